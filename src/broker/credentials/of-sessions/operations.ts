import { askerOf } from '../../../access/concurrency/operations.ts';
import { type App, perApp } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { holdShared } from '../../../core/fairness/asking.ts';
import type { Effect } from '../../../store/write.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { holdVersion } from '../../resource/holds.store.ts';
import { listLinksFrom } from '../../resource/links/store.ts';
import type { Resource } from '../../resource/resource.ts';
import type { SessionCredential } from '../../sessions/credentials/credential.ts';
import {
  NoRoom,
  ROOM_PLACES,
  type SecretHold,
  SecretRoom,
} from '../../sessions/credentials/room.ts';
import { planLogin } from '../../sessions/credentials/ssh-login.ts';
import { keepInjected } from './injected.operations.ts';
import { giveBack, type IssuedCredential, issueAll } from './issued.operations.ts';
import type { InjectionVerdict, SessionContext } from './session-facts.ts';
import {
  type EncodeSecret,
  findBytesToIssue,
  findSources,
  openStored,
  type SourceIds,
  type Sources,
  type Stored,
  secretEncoderFor,
} from './sources.operations.ts';
import type { SourceHead } from './sources.store.ts';

/** The credentials of a new session. */
export interface ResolvedCredentials {
  /** Brokered ones, for the answer: issued ones first, then stored ones; empty for none. */
  credentials: readonly SessionCredential[];
  /** Whether the worker logs in by others, which the client never sees. */
  injects: boolean;
  /** Belong into the write set that makes the session: leases, certificates, injected secrets. */
  effects: readonly Effect[];
  /** Gives back what was issued, when that write set was refused. Never throws. */
  abandon(): Promise<void>;
  /** To be called once they are answered, or not: their bytes are no longer counted. */
  release(): void;
}

const NONE: ResolvedCredentials = {
  injects: false,
  credentials: [],
  effects: [],
  abandon: async () => {},
  release: () => {},
};

const roomOf = perApp(
  () =>
    new SecretRoom(ROOM_PLACES, (why) => {
      if (why === 'gone') return new Failure('unavailable', 'the client has gone');
      const because =
        'too many sessions with long credentials are being made, try again in some seconds';
      return new Failure('rate_limited', because, { retry_after: 5 });
    }),
);

/** Bytes of the secrets that sessions being made hold now. */
export const heldSecrets = (app: App): number => roomOf(app).held;

/** Whose credentials, and for what. */
interface CredentialsOf {
  target: Resource;
  session: SessionContext;
  injection: InjectionVerdict;
}

/** Sources that a session is given something by, where a target has more of them from before. */
const MOST_EVER = 512;

/**
 * Finds or issues the credentials of a target for one session. When one cannot be had, or the client has
 * gone, those issued before it are given back, and nothing is left.
 *
 * @throws Failure as the Vault server's answer has it, `precondition` for a target with too many sources,
 *   `rate_limited` when the secrets of all sessions being made are too many, for longer than one waits
 */
export async function resolveCredentials(
  app: App,
  caller: BrokerCaller,
  of: CredentialsOf,
): Promise<ResolvedCredentials> {
  const room = roomOf(app);
  const asker = askerOf(caller);
  holdShared();
  let hold = room.hold(asker);
  for (;;) {
    try {
      return await resolve(app, caller, of, hold);
    } catch (error) {
      hold.release();
      if (!(error instanceof NoRoom)) throw error;
      // Everything held was released: whoever waits holds nothing, and begins anew.
      hold = await room.wait(error.line, asker);
    }
  }
}

async function resolve(
  app: App,
  caller: BrokerCaller,
  { target, session, injection }: CredentialsOf,
  hold: SecretHold,
): Promise<ResolvedCredentials> {
  const [brokered, injected] = await Promise.all([
    listLinksFrom(app.db, target.id, 'target-brokered'),
    listLinksFrom(app.db, target.id, 'target-injected'),
  ]);
  const count = brokered.length + injected.length;
  if (count === 0) {
    hold.release();
    return NONE;
  }
  if (count > MOST_EVER) {
    const because = `the target has ${count} credential sources, a session is given at most ${MOST_EVER}`;
    throw new Failure('precondition', because);
  }
  if (injected.length > 0 && injection.kind === 'refused') {
    throw new Failure('precondition', injection.because);
  }
  const injects = injected.length > 0 && injection.kind === 'used';
  const ids = { brokered, injected };
  const encode = secretEncoderFor(app);
  const sources = await findSources(app, ids);
  // Before anything is issued: one that does not open leaves nothing to give back.
  const stored = await openStored(app, sources, encode, hold);
  const libraries = librariesOf(sources);
  const given = { session, libraries, hold, injects };
  const all = [...libraries.shown, ...libraries.hidden];
  if (all.length === 0) return give(app, caller, { ...given, stored, issued: [] });
  // Servers may take their time: what is stored is let go of meanwhile, and read again.
  hold.startIssuing();
  return issueBesides(app, caller, ids, { ...given, encode });
}

const librariesOf = ({ shown, hidden }: Sources): Given['libraries'] => ({
  shown: shown.libraries,
  hidden: hidden.libraries,
});

/** What is the same however a session's credentials are had. */
interface Given {
  session: SessionContext;
  libraries: { shown: readonly SourceHead[]; hidden: readonly SourceHead[] };
  hold: SecretHold;
  injects: boolean;
}

async function issueBesides(
  app: App,
  caller: BrokerCaller,
  ids: SourceIds,
  given: Given & { encode: EncodeSecret },
): Promise<ResolvedCredentials> {
  const { shown, hidden } = given.libraries;
  const libraries = [...shown, ...hidden];
  // All of it before anything is issued: who has to wait has nothing to give back.
  given.hold.growRows(await findBytesToIssue(app, libraries));
  const issued = await issueAll(app, caller, { ...given, libraries });
  try {
    const sources = await findSources(app, ids);
    const stored = await openStored(app, sources, secretEncoderFor(app), given.hold);
    return give(app, caller, { ...given, stored, issued });
  } catch (error) {
    // The server may have been sealed while this waited.
    await giveBack(issued);
    throw error;
  }
}

function give(
  app: App,
  caller: BrokerCaller,
  {
    session,
    libraries,
    hold,
    injects,
    stored,
    issued,
  }: Given & { stored: Stored; issued: IssuedCredential[] },
): ResolvedCredentials {
  const { shown, hidden } = stored.sources;
  const encoded = issued.map(({ credential }) => credential);
  const own = encoded.slice(0, libraries.shown.length);
  const others = encoded.slice(libraries.shown.length);
  const credentials = [...shown.credentials, ...hidden.credentials];
  caller.record.outcome.credentials = [
    ...issued.map(({ recorded }) => recorded),
    ...credentials.map(({ id }) => ({ source_id: id })),
  ];
  const kept = [...others, ...stored.hidden];
  if (injects) requireLogins(kept);
  return {
    injects,
    credentials: [...own, ...stored.shown],
    effects: [
      // A source that goes meanwhile, or says something else, gives nothing to a session.
      ...[...libraries.shown, ...libraries.hidden, ...credentials].map(holdSource),
      ...issued.flatMap(({ effects }) => effects),
      ...kept.map((credential) => keepInjected(app, session, credential)),
    ],
    abandon: () => giveBack(issued),
    release: () => hold.release(),
  };
}

/** @throws Failure `precondition` when a worker cannot log in by one of them */
function requireLogins(credentials: readonly SessionCredential[]): void {
  for (const credential of credentials) {
    const verdict = planLogin(credential);
    if (!verdict.usable) throw new Failure('precondition', verdict.because);
  }
}

/** With the store that it lies in a source would go, too. */
const holdSource = ({ id, version }: SourceHead): Effect => holdVersion({ id, version });
