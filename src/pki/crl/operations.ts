import type { Caller } from '../../access/caller.ts';
import { commitPlanned } from '../../access/standing/operations.ts';
import { type App, perApp } from '../../app.ts';
import { Breath } from '../../core/breath.ts';
import { Failure } from '../../core/failure.ts';
import {
  chooseSignatureAlgorithm,
  isSignatureAlgorithm,
  type SignatureAlgorithm,
} from '../../x509/algorithms.ts';
import { encodeListFrame } from '../../x509/crl.ts';
import { keyIdentifier } from '../../x509/keys.ts';
import { type Authority, resolveIssuer } from '../authority/authority.ts';
import { readAuthority } from '../authority/operations.ts';
import { findConfig, saveConfigAsRead } from '../authority/store.ts';
import type { Issuer } from '../issuers/issuer.ts';
import { type RevocationState, readRevocationState, touchLists } from '../revocation/store.ts';
import {
  type CrlConfig,
  type CrlPatch,
  crlConfigSchema,
  crlSeconds,
  DEFAULT_CRL_CONFIG,
  planCrlConfig,
} from './config.ts';
import { type IssuerClass, listBase, planClass, planScope } from './issuer-class.ts';
import { ListShelf } from './list-shelf.ts';
import type { ListContent, ListJob } from './making/job.ts';
import { makeSignedList, remakeSignedList } from './making/operations.ts';
import { findCrl, type StoredCrl, type StoredSeal, saveCrl } from './store.ts';

export function readCrlConfig(app: App, mount_id: string): Promise<CrlConfig> {
  return app.cached(`pki/crl/${mount_id}`, async () => {
    return parseCrlConfig(await findConfig(app.db, mount_id, 'crl'));
  });
}

function parseCrlConfig(body: string | undefined): CrlConfig {
  return body === undefined ? DEFAULT_CRL_CONFIG : crlConfigSchema.parse(JSON.parse(body));
}

export async function writeCrlConfig(app: App, caller: Caller, patch: CrlPatch) {
  const place = { mount_id: caller.mount.id, name: 'crl' };
  const next = await commitPlanned<CrlConfig>(app, caller, async () => {
    const read = await findConfig(app.db, place.mount_id, place.name);
    const config = planCrlConfig(parseCrlConfig(read), patch);
    const effects = saveConfigAsRead(place, { read, body: JSON.stringify(config) });
    return { effects, result: config };
  });
  return { data: next };
}

/** What one server remembers of the lists of all its mounts. */
interface Lists {
  /** Being built or fetched now, so that everybody who waits for one waits for the same. */
  running: Map<string, Promise<void>>;
  /** The last of each class; checked against the stored number at each use. */
  shelf: ListShelf;
  /** Waiting for a moment's quiet before they are built. */
  scheduled: Map<string, NodeJS.Timeout>;
  /** How long the last one took to build, in milliseconds. */
  durations: Map<string, number>;
  /** By place, what the last one was that had too many entries. */
  too_long: Map<string, TooLong>;
}

/** Lists of one scope only grow, so that none of it need be collected to be refused again. */
interface TooLong {
  scope: string;
  max_entries: number;
  refusal: Failure;
}

const listsOf = perApp<Lists>((app) => {
  const scheduled = new Map<string, NodeJS.Timeout>();
  const too_long = new Map<string, TooLong>();
  app.barrier.onLock(() => too_long.clear());
  app.onClose(() => {
    for (const timer of scheduled.values()) clearTimeout(timer);
  });
  return {
    running: new Map(),
    shelf: new ListShelf(),
    scheduled,
    durations: new Map(),
    too_long,
  };
});

export interface PublishedCrl {
  number: number;
  modified_at_ms: number;
  der: Uint8Array;
}

/**
 * The list of an issuer as it should be now. Built before the answer only when it would
 * otherwise be missing a revocation that has been acknowledged, or have run out.
 *
 * @returns undefined when there is none and nobody may sign one
 */
export async function readCrl(
  app: App,
  mount_id: string,
  ref: string,
): Promise<PublishedCrl | undefined> {
  const authority = await readAuthority(app, mount_id);
  const issuers = planClass(authority, resolveIssuer(authority, ref));
  const { revision: wanted } = await readRevocationState(app.db, mount_id);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const ground = await readGround(app, mount_id, issuers);
    if (!ground) return undefined;
    const stored = await findCrl(app.db, mount_id, issuers.id);
    if (ground.issuers.signer && judgeStale(stored, { ...ground, wanted }, app.now() / 1000)) {
      await join(app, placeOf(mount_id, issuers), () => buildCrl(app, mount_id, ground));
      continue;
    }
    if (!stored) return undefined;
    const finished = listsOf(app).shelf.find(placeOf(mount_id, issuers), stored.number);
    if (finished) {
      const modified_at_ms = Math.max(stored.modified_at_ms, ground.state.lists_modified_at_ms);
      return { number: stored.number, modified_at_ms, der: finished.list.der };
    }
    await join(app, placeOf(mount_id, issuers), () => fetchList(app, mount_id, ground, stored));
    if (
      !ground.issuers.signer &&
      !listsOf(app).shelf.find(placeOf(mount_id, issuers), stored.number)
    ) {
      return undefined;
    }
  }
  throw new Failure('unavailable', 'the CRL is being rebuilt, try again', { retry_after: 1 });
}

const ATTEMPTS = 8;

const placeOf = (mount_id: string, { id }: IssuerClass): string => `${mount_id}/${id}`;

/** Waits for what is under way with a list, or begins it. */
function join(app: App, place: string, begin: () => Promise<void>): Promise<void> {
  const { running } = listsOf(app);
  const known = running.get(place);
  if (known) return known;
  const work = begin().finally(() => running.delete(place));
  running.set(place, work);
  return work;
}

/** What a list has to be built from at this moment. */
interface Ground {
  issuers: IssuerClass;
  config: CrlConfig;
  state: RevocationState;
  /** See `ListScope`. */
  scope: string;
}

/** @returns undefined when the class has no issuer any more */
async function readGround(
  app: App,
  mount_id: string,
  { members }: IssuerClass,
): Promise<Ground | undefined> {
  const authority: Authority = await readAuthority(app, mount_id);
  const config = await readCrlConfig(app, mount_id);
  const state = await readRevocationState(app.db, mount_id);
  const member = members.find(({ id }) => authority.issuers.has(id));
  const issuer = member && authority.issuers.get(member.id);
  if (!issuer) return undefined;
  const issuers = planClass(authority, issuer);
  const scope = planScope(authority, issuers, { epoch: state.epoch, disable: config.disable });
  return { issuers, config, state, scope };
}

/** Says whether a list must be built anew (contract 3.12). */
export function judgeStale(
  stored: StoredCrl | undefined,
  ground: Pick<Ground, 'issuers' | 'config' | 'scope'> & { wanted: number },
  now: number,
): boolean {
  const { issuers, config, scope, wanted } = ground;
  if (!stored) return true;
  if (stored.base !== listBase(issuers, scope, config.expiry)) return true;
  const lifetime = stored.next_update - stored.this_update;
  // Without auto_rebuild a list is renewed halfway through, so that nobody meets one that ran out.
  const grace = config.auto_rebuild
    ? crlSeconds(config, 'auto_rebuild_grace_period')
    : lifetime / 2;
  if (now >= stored.next_update - grace) return true;
  return !config.auto_rebuild && !config.disable && stored.revision < wanted;
}

/** Builds, signs and publishes one complete list (RFC 5280 §5). */
async function buildCrl(app: App, mount_id: string, ground: Ground): Promise<void> {
  const { issuers, config, scope } = ground;
  if (!issuers.signer) return;
  const { issuer, key } = issuers.signer;
  const place = placeOf(mount_id, issuers);
  const { shelf, durations } = listsOf(app);
  const began = performance.now();
  const previous = await findCrl(app.db, mount_id, issuers.id);
  // What is revoked from here on is on the next list.
  const { revision } = await readRevocationState(app.db, mount_id);
  const content: ListContent = { mount_id, scope, revision };
  const algorithm = listAlgorithm(issuer, key);
  const now_ms = app.now();
  const this_update = Math.floor(now_ms / 1000);
  const next_update = this_update + crlSeconds(config, 'expiry');
  // By the clock, so that a server restored from a backup never repeats a number it has
  // given out since; by the last number, should the clock have gone back.
  const number = Math.max((previous?.number ?? 0) + 1, now_ms);
  const frame = encodeListFrame({
    issuer: issuer.certificate.subject,
    signatureAlgorithm: algorithm,
    thisUpdate: this_update,
    nextUpdate: next_update,
    crlNumber: BigInt(number),
    authorityKeyId: issuer.certificate.subjectKeyId ?? keyIdentifier(key.public_key),
  });
  const { max_crl_entries: max_entries } = config;
  const job = { content, basis: shelf.findAny(place), frame, algorithm, max_entries };
  const { list, signature } = await refusingLong(app, place, job, () =>
    makeSignedList(app, job, { mount_id, key }),
  );
  const crl: StoredCrl & StoredSeal = {
    number,
    revision,
    base: listBase(issuers, scope, config.expiry),
    this_update,
    next_update,
    modified_at_ms: now_ms,
    scope,
    before_entries: frame.before,
    after_entries: frame.after,
    algorithm,
    signature,
  };
  noteLast(durations, place, performance.now() - began);
  try {
    await app.store.commit([
      saveCrl({ mount_id, class: issuers.id, ...crl }),
      touchLists(mount_id, now_ms),
    ]);
    shelf.put(place, number, { ...content, list });
  } catch (error) {
    // Another node was quicker; whether its list suffices is looked at by whoever waits.
    if (!(error instanceof Failure && error.kind === 'conflict')) throw error;
  }
}

/**
 * Makes a list unless it is known to have too many entries: everybody may ask for it, and to find out
 * takes as long as to make it.
 *
 * @throws Failure `conflict` for a list longer than it may be
 */
async function refusingLong<List>(
  app: App,
  place: string,
  { content: { scope }, max_entries }: ListJob,
  make: () => Promise<List>,
): Promise<List> {
  const { too_long } = listsOf(app);
  const known = too_long.get(place);
  if (known?.scope === scope && known.max_entries === max_entries) throw known.refusal;
  try {
    return await make();
  } catch (error) {
    const isLong = error instanceof Failure && error.kind === 'conflict';
    if (isLong) noteLast(too_long, place, { scope, max_entries, refusal: error });
    throw error;
  }
}

/** Lists of which something is remembered: those of issuers that are gone leave theirs. */
const MOST_PLACES = 1000;

function noteLast<Value>(by_place: Map<string, Value>, place: string, value: Value): void {
  by_place.delete(place);
  by_place.set(place, value);
  const [oldest] = by_place.keys();
  if (by_place.size > MOST_PLACES && oldest !== undefined) by_place.delete(oldest);
}

/** Makes a list again that this server has not in memory: from before its start, or of another node. */
async function fetchList(
  app: App,
  mount_id: string,
  ground: Ground,
  stored: StoredCrl & StoredSeal,
): Promise<void> {
  const { issuers } = ground;
  const place = placeOf(mount_id, issuers);
  const { shelf } = listsOf(app);
  const { number, revision, scope, before_entries, after_entries, signature } = stored;
  const [member] = issuers.members;
  const algorithm = isSignatureAlgorithm(stored.algorithm) ? stored.algorithm : undefined;
  const content: ListContent = { mount_id, scope, revision };
  const list =
    member &&
    algorithm &&
    (await remakeSignedList(
      app,
      {
        content,
        basis: shelf.findAny(place),
        frame: { before: before_entries, after: after_entries },
        algorithm,
        max_entries: -1,
      },
      { signature, public_key: member.certificate.subjectPublicKeyInfo },
    ));
  if (list) {
    shelf.put(place, number, { ...content, list });
    return;
  }
  // It was made of revocations that are not there any more.
  app.log.warn({ number }, 'a stored CRL cannot be made again');
  await buildCrl(app, mount_id, ground);
}

function listAlgorithm(
  issuer: Issuer,
  key: { key_type: string; key_bits: number },
): SignatureAlgorithm {
  const own = issuer.settings.revocation_signature_algorithm;
  if (own !== '') return own;
  const stored = issuer.certificate.signatureAlgorithm;
  const key_type = key.key_type as 'rsa' | 'ec' | 'ed25519';
  return chooseSignatureAlgorithm({
    key_type,
    key_bits: key.key_bits,
    use_pss: key_type === 'rsa' && (stored?.endsWith('PSS') ?? false),
  });
}

/** Revocations that come within this time of each other share a list. */
const QUIET_MS = 100;
/** Building takes at most one part in so many of the time when nobody asks for the list. */
const REST = 8;
const LONGEST_REST_MS = 30_000;

/** Has the list of an issuer built soon, off the request's path. */
export function scheduleCrl(app: App, mount_id: string, issuer_id: string): void {
  const { scheduled, durations } = listsOf(app);
  const slot = `${mount_id}/${issuer_id}`;
  if (scheduled.has(slot)) return;
  const longest = Math.max(0, ...durations.values());
  const timer = setTimeout(
    () => {
      scheduled.delete(slot);
      readCrl(app, mount_id, issuer_id).catch((err: unknown) => {
        if (!app.barrier.sealed) app.log.warn({ err }, 'a CRL was not built');
      });
    },
    Math.min(LONGEST_REST_MS, Math.max(QUIET_MS, longest * REST)),
  );
  timer.unref();
  scheduled.set(slot, timer);
}

/** Builds the lists of all issuers of the mount, whatever their age. */
export async function rotateCrls(app: App, caller: Caller) {
  // Lists are published one by one, for everybody who waits for them: the request's own record says
  // first that it was asked for, and whether the caller may.
  await app.commit(caller, []);
  const mount_id = caller.mount.id;
  const authority = await readAuthority(app, mount_id);
  const warnings: string[] = [];
  const done = new Set<Issuer>();
  const breath = new Breath();
  for (const issuer of authority.issuers.values()) {
    if (done.has(issuer)) continue;
    // It looks at all issuers, of which there may be a thousand.
    await breath.take();
    const issuers = planClass(authority, issuer);
    for (const member of issuers.members) done.add(member);
    if (!issuers.signer) {
      if (issuers.members.some(({ key_id }) => authority.keys.has(key_id))) {
        warnings.push(
          `Warning ${warnings.length + 1} during CRL rebuild: Issuer equivalency set with associated keys lacked an issuer with CRL Signing KeyUsage; refusing to rebuild CRL for this group of issuers: ${issuers.members.map(({ id }) => id).join(', ')}`,
        );
      }
      continue;
    }
    await rotateCrl(app, mount_id, issuers);
  }
  return { data: { success: true }, ...(warnings.length > 0 ? { warnings } : {}) };
}

/** Has a list published that was begun after now, or that covers as much. */
async function rotateCrl(app: App, mount_id: string, issuers: IssuerClass): Promise<void> {
  const place = placeOf(mount_id, issuers);
  const before = await findCrl(app.db, mount_id, issuers.id);
  const { revision: wanted } = await readRevocationState(app.db, mount_id);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    // One that is under way may have begun before the request, or may only be fetched.
    for (let busy = running(app, place); busy; busy = running(app, place)) await busy;
    const ground = await readGround(app, mount_id, issuers);
    if (!ground) return;
    await join(app, place, () => buildCrl(app, mount_id, ground));
    const stored = await findCrl(app.db, mount_id, issuers.id);
    // Another node may have been quicker, with a list that it began before this request.
    const isNew = stored && stored.number > (before?.number ?? 0) && stored.revision >= wanted;
    if (isNew || !ground.issuers.signer) return;
  }
  throw new Failure('unavailable', 'the CRL is being rebuilt, try again', { retry_after: 1 });
}

/** What is under way with a list, whatever comes of it. */
function running(app: App, place: string): Promise<void> | undefined {
  return listsOf(app)
    .running.get(place)
    ?.catch(() => {});
}
