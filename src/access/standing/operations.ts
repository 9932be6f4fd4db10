import type { OwnPath } from '../../acl/name-form.ts';
import { OwnJudge } from '../../acl/own-judge.ts';
import type { ParameterReader } from '../../acl/parameter-forms.ts';
import { type AccessVerdict, TOO_MUCH } from '../../acl/verdict.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { Mount } from '../../app/mount.ts';
import type { Footing, Standing } from '../../app/standing.ts';
import { Failure, isConflict } from '../../core/failure.ts';
import type { Soon } from '../../core/steps.ts';
import { bumpsPermission, findPermissionVersion } from '../../store/permission-version.ts';
import type { Store } from '../../store/store.ts';
import type { Effect, Write } from '../../store/write.ts';
import { letFirst } from '../endings/precedence.operations.ts';
import { byVersion, holdFooting, takeFooting } from './store.ts';

/**
 * The version of all permissions. It is read before the permissions themselves, in every generation of
 * the cache: then these are never older than the version they go by.
 */
export function readPermissionVersion(app: App): Soon<number> {
  return app.cached('permission-version', () => findPermissionVersion(app.db));
}

/**
 * Refuses a write set that rests on what somebody else is permitted, once permissions have changed. It is
 * called before that is read.
 */
export async function holdPermissions(app: App): Promise<Write> {
  return byVersion({ version: await readPermissionVersion(app) });
}

/** Stands for a request that was permitted. */
export function standOn(footing: Footing, renew: () => Promise<Standing>): Standing {
  return {
    token_id: footing.token?.id,
    version: footing.version,
    guards: (changes) => (changes ? takeFooting(footing) : holdFooting(footing)),
    renew,
  };
}

/** A mount that may be removed while the request goes on; the built-in ones cannot be, and are not checked. */
export function footingOf(mount: Mount): Footing['mount'] {
  const { kind, path } = mount;
  const isOwn = kind === 'auth' ? path === 'token/' : OWN.has(path);
  return isOwn ? undefined : { id: mount.id, path };
}

const OWN: ReadonlySet<string> = new Set(['sys/', 'identity/', 'cubbyhole/']);

/** A refused write set of a request that may go on, by what is permitted now. */
export class JudgedAnew extends Failure {
  /** Whether it changes what somebody is permitted itself. */
  readonly changes: boolean;

  constructor(refusal: Failure, changes: boolean) {
    super('conflict', refusal.message, { ...refusal.detail, cause: refusal });
    this.changes = changes;
  }
}

/**
 * Makes a write set durable if the caller may still do that by then, once: whoever planned the set plans anew.
 *
 * @throws Failure `conflict` also when what is permitted was changed, and the request still is
 */
export async function commitOnceFor(
  store: Store,
  caller: Caller,
  effects: readonly Effect[],
): Promise<void> {
  const { standing } = caller;
  const changes = bumpsPermission(effects);
  if (changes) await letFirst(store);
  if (!standing) return store.commit(effects);
  try {
    return await store.commit([...standing.guards(changes), ...effects]);
  } catch (error) {
    if (!isConflict(error)) throw error;
    await store.refreshConfig();
    const renewed = await standing.renew();
    caller.standing = renewed;
    throw renewed.version === standing.version ? error : new JudgedAnew(error, changes);
  }
}

/**
 * Judges by what the caller may do, or is, now and again whenever the request is judged again.
 *
 * @param judge throws when the caller may not, by what the caller has now
 */
export function judgeWith(caller: Caller, judge: () => void): void {
  judge();
  judgeAgainWith(caller, judge);
}

/** As {@link judgeWith}, where judging may take several turns of the event loop. */
export async function judgeSlowlyWith(caller: Caller, judge: () => Promise<void>): Promise<void> {
  await judge();
  judgeAgainWith(caller, judge);
}

/** As {@link judgeWith}, where it was judged already. */
export function judgeAgainWith(caller: Caller, judge: () => Soon<void>): void {
  const also = (standing: Standing): Standing => ({
    ...standing,
    renew: async () => {
      const renewed = await standing.renew();
      await judge();
      return also(renewed);
    },
  });
  if (caller.standing) caller.standing = also(caller.standing);
}

/**
 * Refuses what the caller may not do at the paths where the same could be done by itself.
 *
 * @param paths canonical, after `/v1/`
 */
export async function requireAtNow(
  caller: Pick<Caller, 'acl' | 'own'>,
  operation: 'delete',
  paths: readonly string[],
): Promise<void> {
  const { acl } = caller;
  if (!acl || acl.root) return;
  requireAllowed(await ownJudge(caller).judgeGranted(acl, operation, paths));
}

/**
 * As {@link requireAtNow}, where nothing need be granted at those paths: only denials count, and conditions that
 * policies have there. It is judged again whenever the request is.
 */
export async function refuseDenied(caller: Caller, paths: readonly OwnPath[]): Promise<void> {
  await refuseDeniedNow(caller, paths);
  judgeAgainWith(caller, () => refuseDeniedNow(caller, paths));
}

/** As {@link refuseDenied}, once: for what a plan has found, since the next plan judges what it finds. */
export async function refuseDeniedNow(
  caller: Pick<Caller, 'acl' | 'own'>,
  paths: readonly OwnPath[],
): Promise<void> {
  requireAllowed(await judgeNow(caller, paths));
}

/** Whether policies deny some of the paths, to whoever is told of what else there is. */
export async function isDeniedNow(
  caller: Pick<Caller, 'acl' | 'own'>,
  paths: readonly OwnPath[],
): Promise<boolean> {
  return !(await judgeNow(caller, paths)).allowed;
}

async function judgeNow(
  caller: Pick<Caller, 'acl' | 'own'>,
  paths: readonly OwnPath[],
): Promise<AccessVerdict> {
  const { acl } = caller;
  if (!acl || acl.root || paths.length === 0) return { allowed: true };
  return ownJudge(caller).judge(acl, paths);
}

/** Something that is moved to paths at which it could have been made. */
interface Made {
  fields: Readonly<Record<string, unknown>>;
  reader: ParameterReader;
  paths: readonly OwnPath[];
}

/** As {@link refuseDeniedNow}; its fields are judged as if they had been sent. */
export async function refuseMadeNow(
  caller: Pick<Caller, 'acl' | 'own'>,
  made: Made,
): Promise<void> {
  const { acl } = caller;
  if (!acl || acl.root) return;
  const judge = ownJudge(caller).withFields(made.fields, made.reader);
  requireAllowed(await judge.judge(acl, made.paths));
}

const ownJudge = ({ own }: Pick<Caller, 'own'>): OwnJudge => own?.() ?? new OwnJudge({});

/** @throws Failure `forbidden`, which says so where judging would take too long */
export function requireAllowed(verdict: AccessVerdict): void {
  if (verdict.allowed) return;
  throw new Failure('forbidden', verdict === TOO_MUCH ? JUDGED_TOO_LONG : 'permission denied');
}

const JUDGED_TOO_LONG =
  'permission denied: what the request names takes too long to judge by the policies of its token; name less at a time';
