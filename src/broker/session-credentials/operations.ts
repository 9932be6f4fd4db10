import { endPages, PAGE, workOf } from '../../access/leases/ending/operations.ts';
import { rangeOf } from '../../access/leases/lease.ts';
import { expireLeases, expireRange, listRange } from '../../access/leases/store.ts';
import { whileThere } from '../../access/presence.ts';
import { systemCaller } from '../../access/system-caller.ts';
import { giveWay } from '../../access/turns/operations.ts';
import { type App, perApp } from '../../app.ts';
import { whoAsks } from '../../core/asking.ts';
import { Failure } from '../../core/failure.ts';
import { doFewAtOnce } from '../../core/few-at-once.ts';
import { type Hold, SharedBytes } from '../../core/shared-bytes.ts';
import type { Effect } from '../../store/write.ts';
import type { BrokerCaller } from '../caller.ts';
import type { TemplateFacts } from '../credential-libraries/template.ts';
import { type CredentialBody, presentCredential } from '../credentials/credential.ts';
import { openCredential } from '../credentials/operations.ts';
import { type Issued, issueFromLibrary } from '../library-issuing/operations.ts';
import { listLinksFrom } from '../links/store.ts';
import { PAGE as BEFOREHAND, type EndingWork } from '../removal/page.ts';
import type { Resource } from '../resource.ts';
import { holdVersion } from '../resources/holds/store.ts';
import { findResource } from '../resources/store.ts';
import type { AccountFacts } from '../users/account-facts.ts';
import { sessionPrefix } from '../vault-leases/lease.ts';
import { describeSecret, type FoundSecret, type SessionCredential } from './credential.ts';
import {
  deleteInjected,
  deleteInjectedUpTo,
  endOfSources,
  insertInjected,
  listInjected,
  listInjectedOfSources,
  listLeasesOfSources,
  type SourcesOf,
} from './store.ts';

/** What of a session its credentials depend on. */
export interface SessionFacts {
  /** `s_…`. */
  id: string;
  /** Unix seconds. */
  expires_at: number;
}

/** The credentials of a new session. */
export interface ResolvedCredentials {
  /** Brokered ones, for the answer: issued ones first, then stored ones; empty for none. */
  credentials: readonly SessionCredential[];
  /** Belong into the write set that makes the session: leases, certificates, injected secrets. */
  effects: readonly Effect[];
  /** Gives back what was issued, when that write set was refused. Never throws. */
  abandon(): Promise<void>;
  /** To be called once they are answered, or not: their bytes are no longer counted. */
  release(): void;
}

const NONE: ResolvedCredentials = {
  credentials: [],
  effects: [],
  abandon: async () => {},
  release: () => {},
};

/** Bytes of secrets that are held for sessions which are being made, all of them together and those of one site. */
const HELD_BYTES = { total: 64 << 20, each: 32 << 20 };
/** A secret is there sealed, as it was opened, and twice in the answer. */
const TIMES = 4;

const heldOf = perApp(() => new SharedBytes(HELD_BYTES));

/** Bytes of the secrets that sessions being made hold now. */
export const heldSecrets = (app: App): number => heldOf(app).held;

function startHolding(app: App): Hold {
  const hold = heldOf(app).hold(whoAsks().party, () => {});
  // Nobody else takes the place of what is being answered.
  hold.settle();
  return hold;
}

/** @throws Failure `rate_limited` when the sessions that are being made have too many bytes together */
function holdSecret(hold: Hold, bytes: number): void {
  if (hold.grow(TIMES * bytes)) return;
  const because = 'too many sessions with long credentials are being made, try again in a second';
  throw new Failure('rate_limited', because, { retry_after: 1 });
}

/** Sources that a session is given something by, where a target has more of them from before. */
const MOST_EVER = 512;
/** Of the sources of a session, so many issue at the same time. */
const AT_ONCE = 4;

/**
 * Finds or issues the credentials of a target for one session. When one cannot be had, or the client has
 * gone, those issued before it are given back, and nothing is left.
 *
 * @throws Failure as the Vault server's answer has it, `precondition` for a target with too many sources,
 *   `rate_limited` when the secrets of all sessions being made are too many
 */
export async function resolveCredentials(
  app: App,
  caller: BrokerCaller,
  of: { target: Resource; session: SessionFacts },
): Promise<ResolvedCredentials> {
  const hold = startHolding(app);
  try {
    return await resolve(app, caller, of, hold);
  } catch (error) {
    hold.release();
    throw error;
  }
}

async function resolve(
  app: App,
  caller: BrokerCaller,
  { target, session }: { target: Resource; session: SessionFacts },
  hold: Hold,
): Promise<ResolvedCredentials> {
  const [brokered, injected] = await Promise.all([
    listLinksFrom(app.db, target.id, 'target-brokered'),
    listLinksFrom(app.db, target.id, 'target-injected'),
  ]);
  const count = brokered.length + injected.length;
  if (count === 0) return NONE;
  if (count > MOST_EVER) {
    const because = `the target has ${count} credential sources, a session is given at most ${MOST_EVER}`;
    throw new Failure('precondition', because);
  }
  const ids = { brokered, injected };
  const dress = dressFor(app);
  // Before anything is issued: one that does not open leaves nothing to give back.
  const stored = await openSources(app, ids, dress, hold);
  const { shown, hidden } = stored;
  const libraries = { shown: shown.libraries, hidden: hidden.libraries };
  const given = { session, libraries, hold };
  if (shown.libraries.length + hidden.libraries.length === 0) {
    return give(app, caller, { ...given, stored, issued: [] });
  }
  // Servers may take their time: what is stored is let go of meanwhile, and read again.
  hold.release();
  return issueBesides(app, caller, ids, { ...given, dress });
}

/** What is the same however a session's credentials are had. */
interface Given {
  session: SessionFacts;
  libraries: { shown: readonly Resource[]; hidden: readonly Resource[] };
  hold: Hold;
}

async function issueBesides(
  app: App,
  caller: BrokerCaller,
  ids: SourceIds,
  given: Given & { dress: Dress },
): Promise<ResolvedCredentials> {
  const { shown, hidden } = given.libraries;
  const issued = await issueAll(app, caller, { ...given, libraries: [...shown, ...hidden] });
  try {
    const stored = await openSources(app, ids, dressFor(app), given.hold);
    return give(app, caller, { ...given, stored, issued });
  } catch (error) {
    // The server may have been sealed while it waited for others.
    await giveBack(issued);
    throw error;
  }
}

function give(
  app: App,
  caller: BrokerCaller,
  { session, libraries, hold, stored, issued }: Given & { stored: Stored; issued: Dressed[] },
): ResolvedCredentials {
  const { shown, hidden } = stored;
  const dressed = issued.map(({ credential }) => credential);
  const own = dressed.slice(0, libraries.shown.length);
  const others = dressed.slice(libraries.shown.length);
  const credentials = [...shown.credentials, ...hidden.credentials];
  caller.record.outcome.credentials = [
    ...issued.map(({ recorded }) => recorded),
    ...credentials.map(({ id }) => ({ source_id: id })),
  ];
  return {
    credentials: [...own, ...shown.opened],
    effects: [
      // A source that goes meanwhile, or says something else, gives nothing to a session.
      ...[...libraries.shown, ...libraries.hidden, ...credentials].map(holdSource),
      ...issued.flatMap(({ effects }) => effects),
      ...[...others, ...hidden.opened].map((credential) => keep(app, session, credential)),
    ],
    abandon: () => giveBack(issued),
    release: () => hold.release(),
  };
}

interface SourceIds {
  brokered: readonly string[];
  injected: readonly string[];
}

/** The sources of a target, with what is stored opened. */
interface Stored {
  shown: OpenedSources;
  hidden: OpenedSources;
}

interface OpenedSources {
  libraries: readonly Resource[];
  credentials: readonly Resource[];
  /** The same as the credentials. */
  opened: readonly SessionCredential[];
}

async function openSources(
  app: App,
  { brokered, injected }: SourceIds,
  dress: Dress,
  hold: Hold,
): Promise<Stored> {
  const shown = await listSources(app, brokered, hold);
  const hidden = await listSources(app, injected, hold);
  return {
    shown: { ...shown, opened: await openAll(app, shown.credentials, dress) },
    hidden: { ...hidden, opened: await openAll(app, hidden.credentials, dress) },
  };
}

/** Bytes of the secrets of one session, as JSON: they go out in one answer. */
const MOST_BYTES = 2 << 20;

type Dress = (found: FoundSecret) => Promise<SessionCredential>;

/** What dresses the secrets of one session, in turns with those of others. */
function dressFor(app: App): Dress {
  let bytes = 0;
  return async (found) => {
    await giveWay(app);
    const credential = describeSecret(found);
    bytes += Buffer.byteLength(credential.secret.raw, 'base64');
    if (bytes <= MOST_BYTES) return credential;
    const because = `the credentials of the target are more than ${MOST_BYTES} bytes together`;
    throw new Failure('precondition', because);
  };
}

async function openAll(
  app: App,
  credentials: readonly Resource[],
  dress: Dress,
): Promise<SessionCredential[]> {
  const dressed: SessionCredential[] = [];
  for (const one of credentials) dressed.push(await dress(openStored(app, one)));
  return dressed;
}

/** With the store that it lies in a source would go, too. */
const holdSource = ({ id, version }: Resource): Effect => holdVersion({ id, version });

/** Some at a time: those that there is no room for are not read. */
async function listSources(
  app: App,
  ids: readonly string[],
  hold: Hold,
): Promise<{ libraries: Resource[]; credentials: Resource[] }> {
  const sources: Resource[] = [];
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const some = ids.slice(at, at + AT_ONCE);
    for (const one of await Promise.all(some.map((id) => findResource(app.db, id)))) {
      if (!one) continue;
      holdSecret(hold, one.secret_sealed?.length ?? 0);
      sources.push(one);
    }
  }
  return {
    libraries: sources.filter(({ type }) => type === 'credential-library'),
    credentials: sources.filter(({ type }) => type === 'credential'),
  };
}

interface Dressed extends Omit<Issued, 'found'> {
  credential: SessionCredential;
}

/** A few at a time; when one fails, the others are given back before anybody hears of it. */
async function issueAll(
  app: App,
  caller: BrokerCaller,
  {
    libraries,
    session,
    dress,
    hold,
  }: { libraries: readonly Resource[]; session: SessionFacts; dress: Dress; hold: Hold },
): Promise<Dressed[]> {
  if (libraries.length === 0) return [];
  const facts = await readFacts(app, caller);
  const { done, failed } = await whileThere(caller, async (requireThere) => {
    const outcome = await doFewAtOnce(libraries, AT_ONCE, async (library) => {
      await giveWay(app);
      requireThere();
      const { found, ...issued } = await issueFromLibrary(app, caller, { library, session, facts });
      try {
        const credential = await dress(found);
        holdSecret(hold, Buffer.byteLength(credential.secret.raw, 'base64'));
        return { ...issued, credential };
      } catch (error) {
        await issued.giveBack();
        throw error;
      }
    });
    try {
      requireThere();
      return outcome;
    } catch (reason) {
      return { ...outcome, failed: { reason } };
    }
  });
  if (!failed) return done;
  await giveBack(done);
  throw failed.reason;
}

async function giveBack(issued: readonly Pick<Issued, 'giveBack'>[]): Promise<void> {
  await doFewAtOnce(issued, AT_ONCE, (one) => one.giveBack());
}

/** What templates can say of whom the session is for. */
async function readFacts(app: App, { who }: BrokerCaller): Promise<TemplateFacts> {
  const [user, account] = await Promise.all([
    findResource(app.db, who.user_id),
    who.account_id === '' ? undefined : findResource(app.db, who.account_id),
  ]);
  const body = (account?.body ?? {}) as AccountFacts & { subject?: string };
  const { login_name = '', full_name = '', email = '', subject = '' } = body;
  return {
    'User.Id': who.user_id,
    'User.Name': user?.name ?? '',
    'User.FullName': full_name,
    'User.Email': email,
    'Account.Id': who.account_id,
    'Account.Name': account?.name ?? '',
    'Account.LoginName': login_name,
    'Account.Subject': subject,
    'Account.Email': email,
  };
}

function openStored(app: App, credential: Resource): FoundSecret {
  const { id, name, description, container_id, subtype } = credential;
  const secret = presentCredential(
    subtype,
    credential.body as CredentialBody,
    openCredential(app, credential),
  );
  return {
    source: {
      id,
      name,
      description,
      credential_store_id: container_id,
      type: 'static',
      credential_type: subtype,
    },
    secret,
    credential: secret,
  };
}

const placeOf = (session_id: string, source_id: string) =>
  ({
    table: 'session_credential',
    column: 'secret_sealed',
    row: `${session_id}/${source_id}`,
  }) as const;

/** Stores an injected credential, sealed, for the worker that carries the session. */
function keep(app: App, session: SessionFacts, credential: SessionCredential): Effect {
  const source_id = credential.credential_source.id;
  const bytes = Buffer.from(JSON.stringify(credential));
  const secret_sealed = app.barrier.seal('credential', placeOf(session.id, source_id), bytes);
  bytes.fill(0);
  const { id: session_id, expires_at } = session;
  return insertInjected({ session_id, source_id, expires_at, secret_sealed });
}

/**
 * What ends the credentials of a session: they are due with the write set that ends the session,
 * and are revoked by {@link revokeSessionCredentials} at once or by the job that follows.
 *
 * @param now Unix seconds
 */
export function endSessionCredentials(session_id: string, now: number): Effect[] {
  return [expireRange(rangeOf(sessionPrefix(session_id)), now), deleteInjected({ session_id })];
}

/**
 * What ends the credentials that a library, a stored credential, or all of a store gave to sessions,
 * for the write set that removes it. The job of the leases revokes what is due; the sessions go on.
 */
export function planSourceRemoval(app: App, of: SourcesOf): Effect[] {
  return endOfSources(of, Math.floor(app.now() / 1000));
}

/** As {@link planSourceRemoval}, before some sources are removed, until less than a page of each kind is left. */
export async function endSourcesBeforehand(
  app: App,
  work: Pick<EndingWork, 'commit'>,
  source_ids: readonly string[],
): Promise<void> {
  for (;;) {
    const now = Math.floor(app.now() / 1000);
    const ids = await listLeasesOfSources(app.db, source_ids, { now, limit: BEFOREHAND });
    if (ids.length < BEFOREHAND) break;
    await work.commit([expireLeases(ids, now)], { leases: ids.length });
  }
  for (;;) {
    const kept = await listInjectedOfSources(app.db, source_ids, BEFOREHAND);
    const last = kept.at(-1);
    if (last === undefined || kept.length < BEFOREHAND) break;
    await work.commit([deleteInjectedUpTo(source_ids, last)], { credentials: kept.length });
  }
}

/** Revokes the credentials of ended sessions now; what cannot be revoked is tried again later. */
export async function revokeSessionCredentials(
  app: App,
  session_ids: readonly string[],
): Promise<void> {
  for (const session_id of session_ids) {
    const range = rangeOf(sessionPrefix(session_id));
    const work = workOf(app, systemCaller(app.newId(), 'broker/session-credentials'));
    await endPages(app, work, (last) =>
      listRange(app.db, range, { after: last?.id ?? '', limit: PAGE }),
    );
  }
}

/** Injected credentials of a session, for the worker that carries it; until workers carry any, tests alone ask. */
export async function readInjectedCredentials(
  app: App,
  session_id: string,
): Promise<SessionCredential[]> {
  const rows = await listInjected(app.db, session_id);
  return rows.map(({ source_id, secret_sealed }) => {
    const place = placeOf(session_id, source_id);
    const opened = app.barrier.open('credential', place, secret_sealed);
    const credential = JSON.parse(Buffer.from(opened).toString('utf8'));
    opened.fill(0);
    return credential;
  });
}
