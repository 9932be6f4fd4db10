import { type App, perApp } from '../app/app.ts';
import { fullPath, type Mount, type MountKind } from '../app/mount.ts';
import { Failure } from '../core/failure.ts';
import { Breath } from '../core/fairness/breath.ts';
import { type Soon, whenThere } from '../core/steps.ts';
import { bumpConfigVersion } from '../store/config-version.ts';
import type { Effect } from '../store/write.ts';
import { EMPTY_CONFIG } from './rules.ts';
import { insertMount, listMounts } from './store.ts';

/** All mounts by the path that clients write, and what each engine's data is deleted with. */
export function readMounts(app: App): Soon<ReadonlyMap<string, Mount>> {
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
export function readMountsById(app: App): Soon<ReadonlyMap<string, Mount>> {
  const load = async () => mapMounts((await readMounts(app)).values(), (mount) => mount.id);
  return app.cached('mounts by id', load, ['mounts']);
}

/** The mount of an id, wherever it was moved to. */
export function findMountById(app: App, id: string): Soon<Mount | undefined> {
  return whenThere(readMountsById(app), (mounts) => mounts.get(id));
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

/** The mounts every server has from its first start: the write set of `sys/init` holds them. */
export function planFirstMounts(app: App): Effect[] {
  const first = (kind: MountKind, path: string, type: string, description: string): Mount => ({
    id: app.newId(),
    kind,
    path,
    type,
    accessor: accessorOf(app, { kind, type }),
    description,
    local: path === 'cubbyhole/',
    seal_wrap: path === 'sys/',
    external_entropy_access: false,
    options: null,
    config: {
      ...EMPTY_CONFIG,
      passthrough_request_headers:
        path === 'sys/' ? ['Accept'] : path === 'identity/' ? ['Authorization'] : [],
    },
  });
  return [
    insertMount(
      first('secret', 'sys/', 'system', 'system endpoints used for control, policy and debugging'),
    ),
    insertMount(first('secret', 'identity/', 'identity', 'identity store')),
    insertMount(first('secret', 'cubbyhole/', 'cubbyhole', 'per-token private secret storage')),
    insertMount(first('auth', 'token/', 'token', 'token based credentials')),
    // So that the commands a development server prints work when pasted. Not `pki/`, which
    // people and test suites mount themselves.
    ...(app.config.mode === 'dev'
      ? [
          insertMount({
            ...first('secret', 'demo/', 'pki', 'a first authority to try'),
            options: {},
          }),
        ]
      : []),
    bumpConfigVersion(),
  ];
}

export function accessorOf(app: App, mount: { kind: MountKind; type: string }): string {
  const suffix = Buffer.from(app.randomBytes(4)).toString('hex');
  return `${mount.kind === 'auth' ? 'auth_' : ''}${mount.type}_${suffix}`;
}
