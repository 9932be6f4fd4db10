import { type App, perApp } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import {
  describeLease,
  LAST,
  type Lease,
  type LeaseReply,
  rangeOf,
  segmentOf,
} from '../../../app/lease.ts';
import { fullPath } from '../../../app/mount.ts';
import type {
  AcceptedResult,
  DataResult,
  LeaseResult,
  NothingResult,
} from '../../../app/output.ts';
import { base62 } from '../../../core/base62.ts';
import { Failure, invalid } from '../../../core/failure.ts';
import { SharedRuns } from '../../../core/fairness/shared-runs.ts';
import { type KeyList, type KeyPage, listKeys } from '../../../core/key-list.ts';
import type { ReadPage } from '../../../core/walk.ts';
import { findMountById } from '../../../mounts/operations.ts';
import type { Effect } from '../../../store/write.ts';
import { startFilling } from '../../concurrency/walks.operations.ts';
import { endInTurn } from '../../endings/operations.ts';
import { endLease, endPages, workOf } from '../../leases/ending.operations.ts';
import { endDueLeases, expireInPages, PAGE } from '../../leases/expiration.operations.ts';
import {
  countLeases,
  expireLeases,
  findLease,
  findLivingLease,
  type IdRange,
  insertLease,
  listIdsInRange,
  listRange,
} from '../../leases/store.ts';
import { requirePresented } from '../../permissions/authentication.operations.ts';
import { refuseDenied } from '../../standing/operations.ts';
import { nowSeconds } from '../../tokens/minting.operations.ts';
import { TOKEN_RANDOMNESS } from '../../tokens/token-format.ts';

/** Letters of the random part of an id. */
const LETTERS = 24;
/** Bytes of an id. With its mount and its turn it has to fit an entry of an index, in PostgreSQL 2,704. */
const MAX_ID = 2048;

/**
 * Makes a lease that ends with the caller's token. Its effect belongs into the write set that
 * makes what the lease stands for.
 *
 * @throws Failure `invalid` for a path that is too long for an id, and for the last use of a token
 */
export function planLease(
  app: App,
  caller: Caller,
  request: Pick<Lease, 'kind' | 'data' | 'expires_at' | 'renewable'>,
): { effects: Effect[]; lease: LeaseResult['lease'] } {
  const now = nowSeconds(app);
  const id = `${caller.record.path}/${base62(app.randomBytes(TOKEN_RANDOMNESS), LETTERS)}`;
  if (Buffer.byteLength(id) > MAX_ID) {
    const most = MAX_ID - LETTERS - 1;
    const because = `what has a lease cannot be given at a path of more than ${most} bytes`;
    throw invalid(because);
  }
  caller.record.outcome.lease_id = id;
  const { expires_at, ...holder } = holderOf(caller, request.expires_at);
  const lease: Lease = {
    ...request,
    ...holder,
    id,
    expires_at,
    mount_id: caller.mount.id,
    issued_at: now,
    renewed_at: undefined,
  };
  const { renewable } = request;
  return {
    effects: [insertLease(lease)],
    lease: { id, seconds: Math.max(0, expires_at - now), renewable },
  };
}

/**
 * What a lease ends with. A batch token leaves no row to hang it on: what that token ends with does,
 * the token above it or the alias of its log-in, and its time is known.
 *
 * @throws Failure `invalid` for the last use of a token: with it the lease would end at once
 */
function holderOf(
  caller: Caller,
  requested: number,
): Pick<Lease, 'token_id' | 'alias_id' | 'expires_at'> {
  if (!caller.token) return { token_id: undefined, expires_at: requested };
  if (caller.token.num_uses === 1) {
    throw invalid('what has a lease cannot be given to the last use of a token');
  }
  if (caller.token.type !== 'batch') return { token_id: caller.token.id, expires_at: requested };
  const { parent_id, alias, expires_at = requested } = requirePresented(caller).token;
  return {
    token_id: parent_id,
    ...(parent_id === undefined && alias ? { alias_id: alias.id } : {}),
    expires_at: Math.min(requested, expires_at),
  };
}

async function requireLease(app: App, id: string): Promise<Lease> {
  if (id === '') throw invalid('lease_id must be specified');
  const lease = await findLivingLease(app.db, id, nowSeconds(app));
  if (!lease) throw invalid('invalid lease');
  return lease;
}

export async function lookUpLease(
  app: App,
  caller: Caller,
  input: { lease_id: string },
): Promise<DataResult<LeaseReply>> {
  await refuseDeniedLease(caller, 'lookup', input.lease_id);
  const lease = await requireLease(app, input.lease_id);
  return { data: describeLease(lease, nowSeconds(app)) };
}

/** @throws Failure `invalid`: nothing that is given out at present can be renewed */
export async function renewLease(
  app: App,
  caller: Caller,
  input: { lease_id: string },
): Promise<never> {
  await refuseDeniedLease(caller, 'renew', input.lease_id);
  if (input.lease_id === '') throw invalid('lease_id must be specified');
  const lease = await findLivingLease(app.db, input.lease_id, nowSeconds(app));
  throw invalid(lease ? 'lease is not renewable' : 'lease not found');
}

/** A lease in the body is the one that has a path of its own, or two. */
async function refuseDeniedLease(
  caller: Caller,
  action: 'lookup' | 'renew' | 'revoke',
  id: string,
): Promise<void> {
  if (id === '') return;
  const stands_for = ['lease_id'];
  await refuseDenied(caller, [
    { path: `sys/leases/${action}/${id}`, stands_for },
    { path: `sys/${action}/${id}`, stands_for },
  ]);
}

/** Ends a lease; one that is unknown is as good as ended. */
export async function revokeLease(
  app: App,
  caller: Caller,
  input: { lease_id: string; sync: boolean },
): Promise<NothingResult | AcceptedResult> {
  const id = input.lease_id;
  await refuseDeniedLease(caller, 'revoke', id);
  if (id === '') throw invalid('lease_id must be specified');
  if (!input.sync) return postpone(app, caller, [expireLeases([id], nowSeconds(app))]);
  const lease = await findLease(app.db, id);
  if (lease) await endLease(app, workOf(app, caller), lease);
  return {};
}

/** Dead from here on; what they stand for is ended by the job. */
async function postpone(app: App, caller: Caller, effects: Effect[]): Promise<AcceptedResult> {
  await app.commit(caller, effects);
  return { status: 202 };
}

/**
 * Ends every lease beneath a prefix, or the one that it names whole.
 *
 * @param input.force drops leases also when what they stand for cannot be ended
 */
export async function revokePrefix(
  app: App,
  caller: Caller,
  input: { prefix: string; sync: boolean; force: boolean },
): Promise<NothingResult | AcceptedResult> {
  const { prefix, force } = input;
  // What is named may be one lease. Those beneath it, which may be many, are not asked about each.
  const alike = ['sync'];
  const revoked = ['sys/leases/revoke', 'sys/revoke'].flatMap((at) => [at, `${at}/${prefix}`]);
  await refuseDenied(
    caller,
    revoked.map((path) => ({ path, alike })),
  );
  const single = await findLease(app.db, prefix);
  const range = single ? { from: prefix, to: `${prefix}/` } : rangeOf(prefix);
  const work = workOf(app, caller);
  // All are expired before the first is revoked, however many there are.
  await expireInPages(app, work, range);
  if (!input.sync) return { status: 202 };
  const next = (last: Lease | undefined) =>
    listRange(app.db, range, { after: last?.id ?? '', limit: PAGE });
  // Forced revocations do not wait for others, which a lease that cannot be revoked may keep.
  const failed = await endInTurn(app, `${force} ${range.from}`, () =>
    endPages(app, work, next, { force }),
  );
  if (failed > 0) {
    throw new Failure(
      'unavailable',
      `${failed} leases could not be revoked yet: that is tried again by itself`,
    );
  }
  return {};
}

/** The next segments of the ids of living leases beneath a prefix. */
export async function listLeases(
  app: App,
  caller: Caller,
  input: { prefix: string },
): Promise<KeyList> {
  const range = rangeOf(input.prefix);
  const fillPage = startFilling(app, caller);
  return listKeys((page) => fillPage((read) => listSegments(app, read, range, page)), {});
}

/** Ids that one read scans. */
const SCAN_BATCH = 1000;

async function listSegments(
  app: App,
  read: ReadPage,
  range: IdRange,
  page: KeyPage,
): Promise<string[]> {
  const now = nowSeconds(app);
  const keys: string[] = [];
  let after = page.after === '' ? '' : endOf(page.after, range);
  for (;;) {
    const next = { after, limit: SCAN_BATCH, now };
    const rows = await read(() => listIdsInRange(app.db, range, next));
    for (const { id, is_living } of rows) {
      const segment = segmentOf(id, range.from);
      if (is_living && segment !== keys.at(-1)) keys.push(segment);
      if (keys.length === page.limit) return keys;
    }
    const last = rows.at(-1);
    if (!last || rows.length < SCAN_BATCH) return keys;
    const segment = segmentOf(last.id, range.from);
    // A folder that is known to hold something need not be read to its end.
    after = segment === keys.at(-1) ? endOf(segment, range) : last.id;
  }
}

/** Not before any id whose next segment is this one, and before all that come after those. */
function endOf(segment: string, { from }: IdRange): string {
  return segment.endsWith('/') ? `${from}${segment}${LAST}` : `${from}${segment}`;
}

/** How many leases there are, in all and by mount. */
export async function readLeaseCount(
  app: App,
): Promise<DataResult<{ lease_count: number; counts: Record<string, number> }>> {
  const rows = await countLeases(app.db, nowSeconds(app));
  const counts: [path: string, count: number][] = [];
  for (const { mount_id, count } of rows) {
    const mount = await findMountById(app, mount_id);
    if (mount) counts.push([fullPath(mount), count]);
  }
  const lease_count = rows.reduce((sum, { count }) => sum + count, 0);
  return { data: { lease_count, counts: Object.fromEntries(counts) } };
}

const tidyingOf = perApp(() => new SharedRuns());

/** Ends what is due now instead of with the next run of the job, also what that would not try again so soon. */
export async function tidyLeases(app: App, caller: Caller): Promise<NothingResult> {
  // Many are ended at once: the request's own record says first whether the caller may.
  await app.commit(caller, []);
  await tidyingOf(app).run(() => endDueLeases(app, workOf(app, caller), () => true));
  return { warnings: ['Leases that are due have been ended.'] };
}
