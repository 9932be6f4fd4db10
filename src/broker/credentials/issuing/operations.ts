import { generateKeyPair, type KeyObject } from 'node:crypto';
import { askerOf, makeKeyInTurn } from '../../../access/concurrency/operations.ts';
import { insertLease } from '../../../access/leases/store.ts';
import { holdPermissions } from '../../../access/standing/operations.ts';
import { base62, TOKEN_RANDOMNESS } from '../../../access/tokens/token-format.ts';
import type { App } from '../../../app/app.ts';
import type { Lease } from '../../../app/lease.ts';
import { Failure } from '../../../core/failure.ts';
import { nextBreath } from '../../../core/fairness/breath.ts';
import { findMountById } from '../../../mounts/operations.ts';
import { holdMount } from '../../../mounts/store.ts';
import { planIssuance, takeBackNames, writeNames } from '../../../pki/issuance/operations.ts';
import { issueSchema } from '../../../pki/profile/request.ts';
import type { Effect } from '../../../store/write.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import type { Resource } from '../../resource/resource.ts';
import type { FoundSecret } from '../../sessions/credentials/credential.ts';
import {
  refuseBusy,
  type VaultAnswer,
  type VaultConnection,
  VaultFault,
} from '../../vault/client/answer.ts';
import { askVault, type VaultRequest } from '../../vault/client/client.ts';
import { SECRET } from '../../vault/client/coming.ts';
import { type MadeLease, madeTokenOf } from '../../vault/client/made.ts';
import { textsOf, textsOfPath } from '../../vault/client/repeated.ts';
import { sessionPrefix, VAULT_LEASE, type VaultLeaseData } from '../../vault/leases/lease.ts';
import { macOf, openConnection, requireToken } from '../../vault/tokens/operations.ts';
import { holdCurrentToken } from '../../vault/tokens/store.ts';
import { planRenewal } from '../../vault/tokens/token.ts';
import {
  fillBody,
  fillIssueFields,
  fillPath,
  planSshRequest,
  UnfitValue,
} from '../libraries/issue-request.ts';
import type { LibraryBody } from '../libraries/library.ts';
import { type MappingVerdict, mapLdapSecret, mapSecret } from '../libraries/mapping.ts';
import { holdMaker, mayIssue } from '../libraries/permission.operations.ts';
import type { TemplateFacts } from '../libraries/template.ts';
import { giveLeaseBack, giveTokenBack } from './giving-back.operations.ts';
import { encodeSshPublicKey } from './ssh-public-key.ts';

/** What a library made for a session. */
export interface Issued {
  found: FoundSecret;
  /** Bytes that the secret takes besides its texts, where somebody else made it. */
  weight: number;
  /** What the session's record says of it. */
  recorded: Readonly<Record<string, unknown>>;
  /** Belong into the write set that makes the session: its lease, and a certificate's row. */
  effects: readonly Effect[];
  /** Gives it back when that write set was refused. Never throws. */
  giveBack(): Promise<void>;
}

/** For whom, and for how long. */
export interface IssueRequest {
  library: Resource;
  session: { id: string; expires_at: number };
  facts: TemplateFacts;
  connect: Connect;
}

/** What leads to the server of a store. */
interface Connected {
  token_id: string;
  connection: VaultConnection;
}

export type Connect = (store_id: string) => Promise<Connected>;

/** For the libraries of one session: those of one store share what leads to its server, until the session is durable. */
export function connectorFor(app: App): Connect {
  const known = new Map<string, Promise<Connected>>();
  const open = async (store_id: string): Promise<Connected> => {
    const token = await requireToken(app, store_id);
    return { token_id: token.id, connection: openConnection(app, token) };
  };
  return (store_id) => {
    const connected = known.get(store_id) ?? open(store_id);
    known.set(store_id, connected);
    return connected;
  };
}

/**
 * Has a library make a credential for one session.
 *
 * @throws Failure `unresolved` with the words of the Vault server, `unavailable` when it does not
 *   answer, `precondition` when somebody's name cannot stand where the library has it
 */
export async function issueFromLibrary(
  app: App,
  caller: BrokerCaller,
  request: IssueRequest,
): Promise<Issued> {
  const { id, subtype } = request.library;
  // To fill one in takes some milliseconds at most; those of many sessions go on in one turn otherwise.
  await nextBreath();
  try {
    return subtype === 'authority-certificate'
      ? await issueFromAuthority(app, caller, request)
      : await issueFromVault(app, caller, request);
  } catch (error) {
    if (error instanceof UnfitValue) {
      throw new Failure('precondition', `credential library ${id}: ${error.message}`);
    }
    if (error instanceof VaultFault) {
      if (error.kind === 'busy') throw refuseBusy(error);
      const kind = error.kind === 'unreachable' ? 'unavailable' : 'unresolved';
      throw new Failure(kind, `credential library ${id}: ${error.message}`);
    }
    throw error;
  }
}

function newLeaseId(app: App, { library, session }: IssueRequest): string {
  const random = base62(app.randomBytes(TOKEN_RANDOMNESS), 24);
  return `${sessionPrefix(session.id)}/${library.id}/${random}`;
}

function sourceOf({ id, name, description, container_id, subtype, body }: Resource) {
  const { credential_type } = body as LibraryBody;
  return {
    id,
    name,
    description,
    credential_store_id: container_id,
    type: subtype,
    credential_type,
  };
}

/** A certificate of this server's own authority, that ends with the session at the latest. */
async function issueFromAuthority(
  app: App,
  caller: BrokerCaller,
  request: IssueRequest,
): Promise<Issued> {
  const { library, session, facts } = request;
  const { attributes, mount_id, saved_by } = library.body as LibraryBody;
  const mount = await findMountById(app, mount_id);
  if (!mount) {
    throw new Failure('unresolved', `credential library ${library.id}: its authority is gone`);
  }
  const now = Math.floor(app.now() / 1000);
  const { role = '' } = attributes;
  const fields = fillIssueFields(attributes, facts);
  if (fields.common_name?.trim() === '') throw new UnfitValue('a name is empty');
  const permitted = await holdPermissions(app);
  // What is filled in counts as if whoever saved the library had sent it.
  if (!saved_by || !(await mayIssue(app, saved_by, { mount, role, fields }))) {
    throw new UnfitValue(`whoever saved it may not ask for this at role "${role}"`);
  }
  // Nothing is asked for that was not judged: without a ttl the role's counts, and the session
  // only shortens it.
  const latest = Math.max(now + 1, session.expires_at);
  const input = { ...issueSchema.parse(fields), role, latest };
  // Several libraries of one target issue at once: what each has made is its own.
  const record = { ...caller.record, outcome: {} };
  const leaf = await planIssuance(app, { ...caller, mount, record }, input);
  const { names } = leaf;
  if (leaf.role.no_store) {
    throw new Failure(
      'unresolved',
      `credential library ${library.id}: role "${role}" has no_store, so its certificates could not be revoked`,
    );
  }
  const lease_id = newLeaseId(app, request);
  const lease = insertLease({
    id: lease_id,
    token_id: undefined,
    source_id: library.id,
    mount_id: mount.id,
    kind: 'certificate',
    data: { serial: leaf.serial },
    issued_at: now,
    expires_at: session.expires_at,
    renewed_at: undefined,
    renewable: false,
  });
  const credential = { ...leaf.answer };
  await writeNames(app, names);
  return {
    found: { source: sourceOf(library), secret: credential, credential },
    weight: 0,
    recorded: { source_id: library.id, lease_id, ...record.outcome },
    effects: [
      permitted,
      ...holdMaker(saved_by),
      holdMount({ id: mount.id }),
      ...leaf.effects,
      lease,
    ],
    // Nobody has seen it: uncommitted, it is nothing but some names.
    giveBack: () => takeBackNames(app, names),
  };
}

async function issueFromVault(
  app: App,
  caller: BrokerCaller,
  request: IssueRequest,
): Promise<Issued> {
  const { library } = request;
  const { token_id, connection } = await request.connect(library.container_id);
  const { namespace } = connection;
  const asked = { token_id, token_mac: macOf(app, connection), namespace };
  const source_id = library.id;
  const { answer, read } = await askFor(app, connection, {
    ...request,
    makePair: (type, bits) => newKeyPair(app, caller, type, bits),
    onGone: caller.onGone,
  }).catch(async (error: unknown) => {
    // What comes too late, too long or broken is there all the same.
    if (error instanceof VaultFault && error.made) {
      const lease = leaseOf(app, request, asked, error.made);
      await giverOf(app, caller, { source_id, connection, lease })();
    }
    throw error;
  });
  const lease = leaseOf(app, request, asked, answer);
  const token = madeTokenOf(answer.body);
  const giveBack = giverOf(app, caller, { source_id, connection, lease, token });
  try {
    const found = { ...requireMapped(read(answer.data)), source: sourceOf(library) };
    const recorded = { source_id, lease_id: lease?.id };
    // Also of what has no lease: asked with a token of before, or of another server, it is asked for anew.
    const effects = [holdCurrentToken(token_id), ...(lease ? [insertLease(lease)] : [])];
    return { found, weight: answer.weight, recorded, effects, giveBack };
  } catch (error) {
    await giveBack();
    throw error;
  }
}

/**
 * Gives back what was made. It is kept until the session is durable, and so holds nothing of the library, nor of
 * the answer.
 */
function giverOf(
  app: App,
  caller: BrokerCaller,
  {
    source_id,
    connection,
    lease,
    token,
  }: {
    source_id: string;
    connection: VaultConnection;
    lease: Lease | undefined;
    token?: string | undefined;
  },
): Issued['giveBack'] {
  return async () => {
    if (lease) {
      const became = await giveLeaseBack(app, connection, lease);
      noteGivenBack(caller, { source_id, lease_id: lease.id, lease: became });
    }
    if (token === undefined) return;
    const became = await giveTokenBack(app, connection, { token, library_id: source_id });
    if (became) noteGivenBack(caller, { source_id, token: became });
  };
}

/** What was made, and was given back, belongs into the record of the request, also where that is refused. */
function noteGivenBack({ record }: BrokerCaller, one: Readonly<Record<string, string>>): void {
  const { given_back } = record.outcome;
  record.outcome.given_back = [...(Array.isArray(given_back) ? given_back : []), one];
}

/** @throws VaultFault `malformed` */
function requireMapped(reading: Reading): Pick<FoundSecret, 'secret' | 'credential'> {
  if (reading.mapped) return reading.found;
  throw new VaultFault('malformed', `the secret has no "${reading.missing}"`);
}

/** The lease of what a Vault server gave; undefined where it needs no giving back. */
function leaseOf(
  app: App,
  request: IssueRequest,
  asked: Pick<VaultLeaseData, 'token_id' | 'token_mac' | 'namespace'>,
  { lease_id, lease_duration, renewable }: MadeLease,
): Lease | undefined {
  if (lease_id === '') return undefined;
  const now = Math.floor(app.now() / 1000);
  const { expires_at } = request.session;
  // Without a duration a lease has no end of its own.
  const lasts = lease_duration || Math.max(0, expires_at - now) + TRIED;
  const { renew_at, expires_at: until } = planRenewal(now, lasts);
  const data: VaultLeaseData = { ...asked, lease_id, renewable, renew_at, until };
  return {
    id: newLeaseId(app, request),
    token_id: undefined,
    source_id: request.library.id,
    mount_id: '',
    kind: VAULT_LEASE,
    data: { ...data },
    issued_at: now,
    expires_at,
    renewed_at: undefined,
    renewable: false,
  };
}

/** Seconds that a lease of no known end is tried to be ended: as long as servers let any live unless they are told otherwise. */
const TRIED = 32 * 86_400;

type Secret = VaultAnswer['data'];
type Reading =
  | { mapped: true; found: Pick<FoundSecret, 'secret' | 'credential'> }
  | { mapped: false; missing: string };

interface Wanted extends IssueRequest {
  makePair: MakePair;
  onGone: BrokerCaller['onGone'];
}

/** Asks for what a library describes; `read` makes a credential of the answer. */
async function askFor(
  app: App,
  connection: VaultConnection,
  { library, facts, makePair, onGone }: Wanted,
): Promise<{ answer: VaultAnswer; read: (secret: Secret) => Reading }> {
  const { attributes, credential_type, overrides } = library.body as LibraryBody;
  if (library.subtype === 'vault-ssh-certificate') {
    return askForSshCertificate(app, connection, { attributes, facts, makePair, onGone });
  }
  const { path = '', http_method = 'GET', http_request_body } = attributes;
  const filled = fillPath(path, facts);
  const body = http_method === 'POST' ? fillBody(http_request_body ?? '{}', facts) : undefined;
  const asked: VaultRequest = {
    method: http_method === 'POST' ? 'POST' : 'GET',
    path: filled,
    bounds: SECRET,
    onGone,
    hides: () => [...textsOfPath(filled), ...textsOf(body ?? '{}')],
    ...(body === undefined ? {} : { body }),
  };
  const answer = await askVault(app, connection, asked);
  const map = (secret: NonNullable<Secret>): MappingVerdict =>
    library.subtype === 'vault-ldap'
      ? mapLdapSecret(secret)
      : mapSecret(credential_type, overrides, secret);
  return {
    answer,
    read(secret) {
      if (!secret) return { mapped: false, missing: 'data' };
      if (credential_type === '') return { mapped: true, found: { secret, credential: undefined } };
      const verdict = map(secret);
      return verdict.mapped
        ? { mapped: true, found: { secret, credential: verdict.credential } }
        : verdict;
    },
  };
}

async function askForSshCertificate(
  app: App,
  connection: VaultConnection,
  {
    attributes,
    facts,
    makePair,
    onGone,
  }: { attributes: LibraryBody['attributes'] } & Pick<Wanted, 'facts' | 'makePair' | 'onGone'>,
): Promise<{ answer: VaultAnswer; read: (secret: Secret) => Reading }> {
  const { key_type = 'ed25519', key_bits = 0 } = attributes;
  const { username, path, issues, body } = planSshRequest(attributes, facts);
  const pair = issues ? undefined : await makePair(key_type, key_bits);
  const kind = key_type === 'ecdsa' ? 'ec' : key_type;
  const key = pair
    ? { public_key: encodeSshPublicKey(pair.publicKey) }
    : { key_type: kind, key_bits };
  const answer = await askVault(app, connection, {
    method: 'POST',
    path,
    bounds: SECRET,
    onGone,
    // Of its own fields not their names.
    hides: () => [...textsOfPath(path), ...textsOf(JSON.stringify(Object.values(body)))],
    body: JSON.stringify({ ...body, ...key }),
  });
  return {
    answer,
    read(secret = {}) {
      const { signed_key } = secret;
      const private_key =
        pair?.privateKey.export({ type: 'pkcs8', format: 'pem' }) ?? secret.private_key;
      if (typeof signed_key !== 'string') return { mapped: false, missing: 'signed_key' };
      if (typeof private_key !== 'string') return { mapped: false, missing: 'private_key' };
      const credential = { username, private_key, certificate: signed_key.trim() };
      return { mapped: true, found: { secret: credential, credential } };
    },
  };
}

const CURVES: Readonly<Record<number, string>> = { 256: 'P-256', 384: 'P-384', 521: 'P-521' };

interface KeyPair {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

type MakePair = (type: string, bits: number) => Promise<KeyPair>;

function newKeyPair(app: App, caller: BrokerCaller, type: string, bits: number): Promise<KeyPair> {
  const make = (): Promise<KeyPair> => generatePair(type, bits);
  return type === 'rsa' ? makeKeyInTurn(app, askerOf(caller), make) : make();
}

function generatePair(type: string, bits: number): Promise<KeyPair> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, publicKey: KeyObject, privateKey: KeyObject): void => {
      if (error) reject(error);
      else resolve({ publicKey, privateKey });
    };
    if (type === 'rsa') generateKeyPair('rsa', { modulusLength: bits || 2048 }, done);
    else if (type === 'ecdsa') generateKeyPair('ec', { namedCurve: CURVES[bits] ?? 'P-256' }, done);
    else generateKeyPair('ed25519', {}, done);
  });
}
