import { type App, perApp } from '../../../app/app.ts';
import type { JobRun } from '../../../app/job.ts';
import { Failure } from '../../../core/failure.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import { GrowingWaits } from '../../../core/growing-waits.ts';
import type { Effect } from '../../../store/write.ts';
import { IN_REQUEST, refuseField } from '../../resource/field-errors.ts';
import { newResourceId } from '../../resource/ids.ts';
import type { Scope } from '../../resource/resource.ts';
import { refuseBusy, type VaultConnection, VaultFault } from '../client/answer.ts';
import { askVault, findUnusableField } from '../client/client.ts';
import { wholeSeconds } from '../client/made.ts';
import {
  findLatestToken,
  findVaultToken,
  insertVaultToken,
  isHeldOn,
  listUnhashedTokens,
  replaceToken,
  saveTokenMac,
  saveTokenSecret,
} from './store.ts';
import {
  faultOfToken,
  listMissingCapabilities,
  NEEDED_CAPABILITIES,
  planRenewal,
  serverOf,
  tokenHmac,
  type VaultToken,
} from './token.ts';

/** A connection that was tried, with what its token turned out to be. */
interface TriedConnection {
  connection: VaultConnection;
  token_hmac: string;
  /** Seconds that the token lives without a renewal. */
  ttl: number;
}

/**
 * Tries a store's connection: the server answers, and the token is one that can be kept alive
 * for as long as the store is there, and that can end what it brings forth.
 *
 * @throws Failure `invalid` naming the attribute that must be changed
 */
export async function tryConnection(
  app: App,
  connection: VaultConnection,
): Promise<TriedConnection> {
  const unusable = findUnusableField(connection);
  if (unusable !== undefined) {
    refuseAttribute(
      unusable,
      'This must be PEM, and a private key must fit its certificate: at most 256 certificates of at most 16 KiB, with ' +
        'keys of RSA, EC on a NIST curve or Ed25519, no relative names of CRL distribution points, and at most 4 KiB of name ' +
        'constraints in all.',
    );
  }
  try {
    const found = await askVault(app, connection, {
      method: 'GET',
      path: 'auth/token/lookup-self',
    });
    const { data = {} } = found;
    const fault = faultOfToken(data);
    if (fault !== undefined) refuseAttribute('token', fault);
    await requireCapabilities(app, connection);
    const renewed = await askVault(app, connection, {
      method: 'PUT',
      path: 'auth/token/renew-self',
      body: '{}',
    });
    return {
      connection,
      token_hmac: tokenHmac(connection.token, String(data.accessor)),
      ttl: renewed.auth_duration ?? wholeSeconds(data.period) ?? 0,
    };
  } catch (error) {
    if (!(error instanceof VaultFault)) throw error;
    if (error.kind === 'busy') throw refuseBusy(error);
    return refuseAttribute(ATTRIBUTES[error.kind], sentence(error.message));
  }
}

const ATTRIBUTES: Readonly<Record<Exclude<VaultFault['kind'], 'busy'>, string>> = {
  barred: 'address',
  unreachable: 'address',
  untrusted: 'ca_cert',
  misnamed: 'tls_server_name',
  refused: 'token',
  status: 'address',
  malformed: 'address',
};

function refuseAttribute(field: string, because: string): never {
  return refuseField(`attributes.${field}`, because, IN_REQUEST);
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

async function requireCapabilities(app: App, connection: VaultConnection): Promise<void> {
  const paths = Object.keys(NEEDED_CAPABILITIES);
  const { body } = await askVault(app, connection, {
    method: 'POST',
    path: 'sys/capabilities-self',
    body: JSON.stringify({ paths }),
  });
  const missing = listMissingCapabilities(body);
  if (missing.length > 0) {
    refuseAttribute('token', `missing capabilities: ${missing.join(', ')}`);
  }
}

/** Makes a tried connection the one that a store works with from now on. */
export function planToken(
  app: App,
  store: { id: string; scope: Pick<Scope, 'id' | 'parent_scope_id'> },
  { connection, ttl }: TriedConnection,
  before?: VaultToken,
): Effect[] {
  const now = Math.floor(app.now() / 1000);
  const id = newResourceId('vt', app.randomBytes(32));
  return [
    ...(before ? [replaceToken(before.id, now)] : []),
    insertVaultToken({
      id,
      store_id: store.id,
      project_id: store.scope.id,
      org_id: store.scope.parent_scope_id,
      status: 'current',
      secret_sealed: sealConnection(app, id, connection),
      ...planRenewal(now, ttl),
      replaced_at: null,
      token_mac: macOf(app, connection),
    }),
  ];
}

/** The same token, reached in another way. */
export function planReconnection(
  app: App,
  token: VaultToken,
  connection: VaultConnection,
): Effect[] {
  const secret_sealed = sealConnection(app, token.id, connection);
  return [saveTokenSecret(token.id, { secret_sealed, token_mac: macOf(app, connection) })];
}

const placeOf = (row: string) => ({ table: 'vault_token', column: 'secret_sealed', row }) as const;

function sealConnection(app: App, id: string, connection: VaultConnection): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(connection));
  const sealed = app.barrier.encrypt('credential', placeOf(id), bytes);
  bytes.fill(0);
  return sealed;
}

export function openConnection(app: App, { id, secret_sealed }: VaultToken): VaultConnection {
  const opened = app.barrier.decrypt('credential', placeOf(id), secret_sealed);
  const connection = JSON.parse(Buffer.from(opened).toString('utf8'));
  opened.fill(0);
  return connection;
}

/** Tokens whose connections do not open: they are opened by jobs, and logged, ever less often. */
const unopened = perApp(() => new GrowingWaits({ shortest: 10_000 }));

/** Whether a job is to open a connection: that it did not open may have been long ago. */
export function mayOpen(app: App, id: string): boolean {
  return unopened(app).isOver(id, app.now());
}

/** As {@link openConnection}, where one that does not open keeps nothing else waiting. It is logged. */
export function tryOpening(app: App, token: VaultToken): VaultConnection | undefined {
  const { id, store_id } = token;
  try {
    const connection = openConnection(app, token);
    unopened(app).forget(id);
    return connection;
  } catch (err) {
    if (app.barrier.sealed) throw err;
    if (!mayOpen(app, id)) return undefined;
    app.log.error({ err, store_id }, 'the connection of a store does not open');
    unopened(app).note(id, app.now());
    return undefined;
  }
}

/** What tells that rows have the same token of the same server. */
export function macOf(app: App, connection: VaultConnection): string {
  const told = JSON.stringify([serverOf(connection), connection.token]);
  return app.barrier.hmac('credential', `vault-token:${told}`).toString('base64url');
}

const PAGE = 200;

/** Makes the hashes of tokens that have none: those from before there were any. */
export async function hashTokens(
  app: App,
  turn: Pick<JobRun, 'commit' | 'stopping'>,
): Promise<void> {
  const breath = new Breath();
  for (let skipped = 0; !turn.stopping; ) {
    const page = await listUnhashedTokens(app.db, { skipped, limit: PAGE });
    if (page.length === 0) return;
    const effects: Effect[] = [];
    for (const id of page) {
      await breath.take();
      const token = mayOpen(app, id) ? await findVaultToken(app.db, id) : undefined;
      const connection = token && tryOpening(app, token);
      if (connection) effects.push(saveTokenMac(id, macOf(app, connection)));
    }
    if (effects.length > 0) await turn.commit(effects, { hashed: effects.length });
    skipped += page.length - effects.length;
  }
}

/**
 * Whether another row has the token, too, and ends it in its time.
 *
 * @param usedMacs hashes of the tokens that leases hang on: none on this row
 */
export async function isLeftToAnother(
  app: App,
  { id, replaced_at }: VaultToken,
  { connection, usedMacs }: { connection: VaultConnection; usedMacs: ReadonlySet<string | null> },
): Promise<boolean> {
  const now = Math.floor(app.now() / 1000);
  const token_mac = macOf(app, connection);
  if (usedMacs.has(token_mac)) return true;
  return isHeldOn(app.db, { id, token_mac, replaced_at: replaced_at ?? now }, now);
}

/** @throws Failure `unresolved` for a store whose token no longer works */
export async function requireToken(app: App, store_id: string): Promise<VaultToken> {
  const token = await findLatestToken(app.db, store_id);
  if (token?.status === 'current') return token;
  throw new Failure(
    'unresolved',
    `the token of credential store ${store_id} is ${token?.status ?? 'gone'}: give the store another one`,
  );
}
