import { type App, perApp } from '../app.ts';
import { Breath } from '../core/breath.ts';
import { Failure } from '../core/failure.ts';
import { fullPath, type Mount } from './mount.ts';
import { listMounts } from './store.ts';

/** All mounts by the path that clients write, and what each engine's data is deleted with. */
export function readMounts(app: App): Promise<ReadonlyMap<string, Mount>> {
  return app.cached('mounts', async () => {
    const last = lastMounts(app);
    const mounts = await listMounts(app.db, last.byId);
    last.byId = await mapMounts(mounts, ({ id }) => id);
    return mapMounts(mounts, fullPath);
  }, ['mounts']);
}

/** The mounts as they were read last: of thousands few change at a time. */
const lastMounts = perApp((): { byId: ReadonlyMap<string, Mount> } => ({ byId: new Map() }));

async function mapMounts(
  mounts: Iterable<Mount>,
  keyOf: (mount: Mount) => string,
): Promise<ReadonlyMap<string, Mount>> {
  const map = new Map<string, Mount>();
  const breath = new Breath();
  for (const mount of mounts) {
    map.set(keyOf(mount), mount);
    await breath.take();
  }
  return map;
}

/** All mounts by their ids; the same map until one of them changes. */
export function readMountsById(app: App): Promise<ReadonlyMap<string, Mount>> {
  const load = async () => mapMounts((await readMounts(app)).values(), (mount) => mount.id);
  return app.cached('mounts by id', load, ['mounts']);
}

/** The mount of an id, wherever it was moved to. */
export async function findMountById(app: App, id: string): Promise<Mount | undefined> {
  return (await readMountsById(app)).get(id);
}

/** A request's mount as it is by now, for what may be planned anew. Where it is gone, holding it refuses. */
export async function presentMount(app: App, mount: Mount): Promise<Mount> {
  return (await findMountById(app, mount.id)) ?? mount;
}

/** The mount of an accessor, wherever it was moved to. */
export async function findMountByAccessor(app: App, accessor: string): Promise<Mount | undefined> {
  const load = async () => mapMounts((await readMounts(app)).values(), (mount) => mount.accessor);
  return (await app.cached('mounts by accessor', load, ['mounts'])).get(accessor);
}

/** The mount that is always there; its routes are the server's own. */
export async function requireSystemMount(app: App): Promise<Mount> {
  const mount = (await readMounts(app)).get('sys/');
  if (!mount) throw new Failure('unavailable', 'the server is not initialised');
  return mount;
}
