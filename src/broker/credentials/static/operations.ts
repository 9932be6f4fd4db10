import { createHmac } from 'node:crypto';
import { openInTurn } from '../../../access/concurrency/operations.ts';
import type { App } from '../../../app/app.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { endBeforehand } from '../../iam/removal.operations.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { IN_REQUEST, refuseField } from '../../resource/field-errors.ts';
import type { Plan, ResourceHandler } from '../../resource/handler.ts';
import { isIdOf } from '../../resource/ids.ts';
import type { ListRequest } from '../../resource/lists/query.ts';
import { requireVersion } from '../../resource/operations.ts';
import type { Resource } from '../../resource/resource.ts';
import { planSourceRemoval } from '../../sessions/credentials/termination.operations.ts';
import {
  CREDENTIAL_KINDS,
  CREDENTIAL_SECRETS,
  type CredentialBody,
  type CredentialItem,
  type CredentialKind,
  type CredentialSecret,
  canonicalText,
  checkCredentialChange,
  checkNewCredential,
  credentialAttributes,
  credentialPaths,
  credentialShown,
  planCredential,
} from './credential.ts';
import { derive } from './opening.operations.ts';
import { canUnlock, judgeSshKey, type LockedKey } from './ssh-key.ts';

const NO_STORE = 'This field must be a valid credential store id.';

export const credentialDefinition: ResourceHandler<CredentialKind> = {
  type: 'credential',
  containerField: 'credential_store_id',
  fields: {},
  secrets: CREDENTIAL_SECRETS,
  attributes: credentialAttributes,
  shown: credentialShown,
  wholeFields: ['attributes.object'],
  showsType: true,
  words: { stale: 'Credential "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, parent, errors) {
    if (parent !== 'static') errors.add('credential_store_id', NO_STORE);
    const type = item.type ?? '';
    if (Object.hasOwn(CREDENTIAL_KINDS, type)) return type;
    errors.add('type', `Unsupported credential type "${type}"`);
    return '';
  },
  checkNew: checkNewCredential,
  async planNew(app, caller, { id, item, subtype, container }) {
    const before = { open: { username: '', domain: '' }, secret: {} };
    const planned = planCredential(subtype, before, item, 'all');
    await requireUsable(app, caller, subtype, planned.secret);
    return planRow(app, { id, store_id: container.parent?.id ?? '' }, planned);
  },

  updatable: credentialPaths,
  checkChange: checkCredentialChange,
  async planChange(app, caller, { resource, item, mask }) {
    const secrets = mask.some((path) => path.startsWith('attributes.'));
    if (!secrets) return {};
    // No key is derived on behalf of a change that comes too late.
    requireVersion(credentialDefinition, resource, item.version ?? 0);
    const before = { open: resource.body, secret: openCredential(app, resource) };
    const planned = planCredential(resource.subtype, before, item, keyMask(item, mask));
    await requireUsable(app, caller, resource.subtype, planned.secret);
    return planRow(app, { id: resource.id, store_id: resource.container_id }, planned);
  },
  endBeforehand,
  planRemoval: async (app, _caller, { id }) => planSourceRemoval(app, { removed_id: id }),

  async describe(_app, _caller, credentials) {
    return credentials.map(({ body: { username, domain, hmacs } }) => ({
      attributes: omitEmpty({ username, domain, ...hmacs }),
    }));
  },
};

/** A new private key in the clear takes no passphrase over from the one before. */
function keyMask({ attributes }: CredentialItem, mask: readonly string[]): readonly string[] {
  const private_key = attributes?.private_key;
  if (!mask.includes('attributes.private_key') || private_key === undefined) return mask;
  return judgeSshKey(private_key, '').kind === 'open'
    ? [...mask, 'attributes.private_key_passphrase']
    : mask;
}

function planRow(
  app: App,
  row: { id: string; store_id: string },
  { open, secret }: ReturnType<typeof planCredential>,
): Plan<CredentialKind> {
  const key = storeKey(app, row.store_id);
  const hmacs = Object.fromEntries(
    Object.entries(secret).map(([field, value]) => [
      `${field}_hmac`,
      createHmac('sha256', key).update(canonicalText(value)).digest('base64url'),
    ]),
  );
  const body: CredentialBody = { username: open.username, domain: open.domain, hmacs };
  const bytes = Buffer.from(JSON.stringify(secret));
  const secret_sealed = app.barrier.encrypt('credential', placeOf(row.id), bytes);
  bytes.fill(0);
  return { body, secret_sealed };
}

/** What a store's keyed hashes are made with: the same value differs from store to store. */
export function storeKey(app: App, store_id: string): Uint8Array {
  return app.barrier.hmac('credential', `store:${store_id}`);
}

const placeOf = (row: string) => ({ table: 'resource', column: 'secret_sealed', row }) as const;

/** The secret fields of a stored credential. */
export function openCredential(app: App, { id, secret_sealed }: Resource): CredentialSecret {
  if (secret_sealed === null) return {};
  const opened = app.barrier.decrypt('credential', placeOf(id), secret_sealed);
  const secret = JSON.parse(Buffer.from(opened).toString('utf8'));
  opened.fill(0);
  return secret;
}

/** @throws Failure `invalid` for a private key that cannot be read, or not with this passphrase */
async function requireUsable(
  app: App,
  caller: BrokerCaller,
  type: string,
  secret: CredentialSecret,
): Promise<void> {
  if (type !== 'ssh_private_key') return;
  const { private_key = '', private_key_passphrase: passphrase = '' } = secret;
  const verdict = judgeSshKey(private_key, passphrase);
  switch (verdict.kind) {
    case 'open':
      if (passphrase === '' || judgeSshKey(private_key, '').kind !== 'open') return;
      return refusePassphrase('Passphrase supplied for unencrypted key.');
    case 'locked':
      if (await openInTurn(app, caller, () => opens(verdict.key, passphrase))) return;
      return refusePassphrase('Incorrect private key passphrase.');
    case 'wrong_passphrase':
      return refusePassphrase('Incorrect private key passphrase.');
    case 'unusable':
      return refuseField(
        'attributes.private_key',
        `Unable to parse given private key value: ${verdict.because}.`,
        IN_REQUEST,
      );
  }
}

function refusePassphrase(because: string): never {
  return refuseField('attributes.private_key_passphrase', because, IN_REQUEST);
}

const opens = async (key: LockedKey, passphrase: string): Promise<boolean> =>
  canUnlock(key, await derive(key, passphrase));

/** @throws Failure `invalid` for a query that names no store of stored credentials */
export function checkCredentialList({ place }: ListRequest): void {
  if (isIdOf(place, 'credential-store', 'static')) return;
  refuseField('credential_store_id', NO_STORE, 'Improperly formatted identifier.');
}
