import type { App } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import type { Mount } from '../../mounts/mount.ts';
import { bumpsPermission, findPermissionVersion } from '../../store/permission-version.ts';
import type { Store } from '../../store/store.ts';
import type { Effect } from '../../store/write.ts';
import type { Caller } from '../caller.ts';
import type { Footing, Standing } from './standing.ts';
import { holdFooting, takeFooting } from './store.ts';

/**
 * The version of what is permitted. It is read before what it stands for, in every generation of
 * what is cached: then permissions are never older than the version they go by.
 */
export function readPermissionVersion(app: App): Promise<number> {
  return app.cached('permission-version', () => findPermissionVersion(app.db));
}

/** Stands for a request that was permitted. */
export function standOn(footing: Footing, renew: () => Promise<Standing>): Standing {
  return {
    version: footing.version,
    guards: (changes) => (changes ? takeFooting(footing) : holdFooting(footing)),
    renew,
  };
}

/** A mount as something that can go; those of the server's own cannot, and are not looked at. */
export function footingOf(mount: Mount): Footing['mount'] {
  const { kind, path } = mount;
  const isOwn = kind === 'auth' ? path === 'token/' : OWN.has(path);
  return isOwn ? undefined : { id: mount.id, path };
}

const OWN: ReadonlySet<string> = new Set(['sys/', 'identity/', 'cubbyhole/']);

/** Each attempt means that somebody else's change of permissions was durable. */
const ATTEMPTS = 50;

/**
 * Makes a write set durable if the caller may still do that by then. When what is permitted was
 * changed meanwhile, the request is judged again.
 *
 * @throws Failure as the request would be refused if it came now; `conflict` for a reason of the
 *   write set's own
 */
export async function commitFor(
  store: Pick<Store, 'commit' | 'refreshConfig'>,
  caller: Caller,
  effects: readonly Effect[],
): Promise<void> {
  const changes = bumpsPermission(effects);
  for (let attempt = 1; ; attempt += 1) {
    const { standing } = caller;
    if (!standing) return store.commit(effects);
    try {
      return await store.commit([...standing.guards(changes), ...effects]);
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'conflict') throw error;
      await store.refreshConfig();
      const renewed = await standing.renew();
      if (renewed.version === standing.version || attempt === ATTEMPTS) throw error;
      caller.standing = renewed;
    }
  }
}
