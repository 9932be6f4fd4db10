import { createHmac } from 'node:crypto';
import type { App } from '../../../app/app.ts';
import { withoutLeading, withoutTrailing } from '../../../core/edges.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { readMounts } from '../../../mounts/operations.ts';
import { endBeforehand } from '../../iam/removal.operations.ts';
import { IN_REQUEST, refuseField } from '../../resource/field-errors.ts';
import type { Plan, ResourceHandler } from '../../resource/handler.ts';
import { requireVersion } from '../../resource/operations.ts';
import type { Resource, Scope } from '../../resource/resource.ts';
import { planSourceRemoval } from '../../sessions/credentials/termination.operations.ts';
import type { VaultConnection } from '../../vault/client/answer.ts';
import {
  planReconnection,
  planToken,
  tryConnection,
  tryOpening,
} from '../../vault/tokens/operations.ts';
import { findLatestToken, listLatestStatus } from '../../vault/tokens/store.ts';
import { isSameToken } from '../../vault/tokens/token.ts';
import { storeKey } from '../static/operations.ts';
import {
  type AuthorityStoreBody,
  checkNewStore,
  checkStoreChange,
  planVaultStore,
  type StoreItem,
  type StoreKind,
  storeAttributes,
  storePaths,
  storeShown,
  type VaultStoreBody,
} from './store-fields.ts';

const TYPES: readonly string[] = ['static', 'vault', 'authority'];

export const credentialStoreDefinition: ResourceHandler<StoreKind> = {
  type: 'credential-store',
  containerField: 'scope_id',
  fields: {},
  // People put a key beside its certificate.
  secrets: ['token', 'client_certificate', 'client_certificate_key'],
  attributes: storeAttributes,
  shown: storeShown,
  showsType: true,
  words: { stale: 'Credential store "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, _parent, errors) {
    const type = TYPES.find((known) => known === item.type);
    if (type === undefined) {
      errors.add('type', 'This is a required field and must be a known credential store type.');
    }
    return type ?? '';
  },
  checkNew: checkNewStore,
  async planNew(app, _caller, { id, item, subtype, container: { scope } }) {
    if (subtype === 'authority') return planAuthority(app, item);
    return subtype === 'vault' ? planNewVault(app, { id, scope }, item) : {};
  },

  updatable: storePaths,
  checkChange: checkStoreChange,
  async planChange(app, _caller, { resource, container: { scope }, item, mask }) {
    const speaks = mask.some((path) => path.startsWith('attributes.'));
    if (resource.subtype !== 'vault' || !speaks) return {};
    return planVaultChange(app, { resource, scope }, item, mask);
  },
  endBeforehand,
  planRemoval: async (app, _caller, { id }) => planSourceRemoval(app, { removed_id: id }),

  childrenOf: ({ subtype }) => (subtype === 'static' ? ['credential'] : ['credential-library']),
  async describe(app, _caller, stores) {
    const vaults = stores.filter(({ subtype }) => subtype === 'vault');
    const statuses = await listLatestStatus(
      app.db,
      vaults.map(({ id }) => id),
    );
    return stores.map((store) => {
      if (store.subtype === 'static') return {};
      const more = store.subtype === 'vault' ? { token_status: statuses.get(store.id) } : {};
      return { attributes: omitEmpty({ ...store.body, ...more }) };
    });
  },
};

/** @throws Failure `invalid` for what is no mount of a certificate authority */
async function planAuthority(app: App, { attributes }: StoreItem): Promise<Plan<StoreKind>> {
  const mount = withoutTrailing(withoutLeading(attributes?.mount ?? '', '/'), '/');
  const found = (await readMounts(app)).get(`${mount}/`);
  if (found?.type !== 'pki') {
    refuseField(
      'attributes.mount',
      'This must be the path of a mounted certificate authority.',
      IN_REQUEST,
    );
  }
  const body: AuthorityStoreBody = { mount };
  return { body };
}

async function planNewVault(
  app: App,
  store: { id: string; scope: Scope },
  item: StoreItem,
): Promise<Plan<StoreKind>> {
  const fields = planVaultStore(undefined, item, []);
  const { attributes = {} } = item;
  const tried = await tryConnection(
    app,
    connectionOf(fields, {
      token: attributes.token ?? '',
      client_certificate_key: attributes.client_certificate_key ?? '',
    }),
  );
  const { token_hmac, connection } = tried;
  const body = { ...fields, token_hmac, ...keyHmac(app, store.id, connection) };
  return { body, effects: planToken(app, store, tried) };
}

/** A change is tried before it is made: what a store has always worked at that moment. */
async function planVaultChange(
  app: App,
  { resource, scope }: { resource: Resource<StoreKind['body']>; scope: Scope },
  item: StoreItem,
  mask: readonly string[],
): Promise<Plan<StoreKind>> {
  // Nobody is asked on behalf of a change that comes too late.
  requireVersion(credentialStoreDefinition, resource, item.version ?? 0);
  const { token_hmac: known_hmac = '' } = resource.body;
  const fields = planVaultStore(resource.body, item, mask);
  const token = await findLatestToken(app.db, resource.id);
  const before = token && tryOpening(app, token);
  if (token && !before && !mask.includes('attributes.token')) {
    const because = 'What is stored of the connection does not open: a token is needed.';
    refuseField('attributes.token', because, IN_REQUEST);
  }
  const { attributes = {} } = item;
  const secretOf = (field: 'token' | 'client_certificate_key'): string =>
    mask.includes(`attributes.${field}`) ? (attributes[field] ?? '') : (before?.[field] ?? '');
  const tried = await tryConnection(
    app,
    connectionOf(fields, {
      token: secretOf('token'),
      client_certificate_key: secretOf('client_certificate_key'),
    }),
  );
  const { connection, token_hmac } = tried;
  const body = { ...fields, token_hmac, ...keyHmac(app, resource.id, connection) };
  const effects =
    token?.status === 'current' &&
    before &&
    isSameToken({ token_hmac: known_hmac, connection: before }, tried)
      ? planReconnection(app, token, connection)
      : planToken(app, { id: resource.id, scope }, tried, token);
  return { body, effects };
}

function connectionOf(
  fields: VaultStoreBody,
  secrets: Pick<VaultConnection, 'token' | 'client_certificate_key'>,
): VaultConnection {
  const { address, namespace, ca_cert, tls_server_name, tls_skip_verify } = fields;
  const { client_certificate, worker_filter } = fields;
  return {
    address,
    namespace,
    ca_cert,
    tls_server_name,
    tls_skip_verify,
    client_certificate,
    ...(worker_filter === '' ? {} : { worker_filter }),
    ...secrets,
  };
}

function keyHmac(
  app: App,
  store_id: string,
  { client_certificate_key }: VaultConnection,
): { client_certificate_key_hmac: string } {
  if (client_certificate_key === '') return { client_certificate_key_hmac: '' };
  const hmac = createHmac('sha256', storeKey(app, store_id)).update(client_certificate_key);
  return { client_certificate_key_hmac: hmac.digest('base64url') };
}
