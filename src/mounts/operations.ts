import { type Acl, judgeAccess } from '../access/acl.ts';
import type { Caller } from '../access/caller.ts';
import type { EndingPages } from '../access/ended.ts';
import { maySudo } from '../access/grants.ts';
import { hasAccessBeneath } from '../access/grants-beneath.ts';
import { endLeasesOfRevoked, expireOfMountBeforehand } from '../access/leases/ending/operations.ts';
import { expireLeasesOfMount } from '../access/leases/store.ts';
import { whileThere } from '../access/presence.ts';
import { RuleWalk } from '../access/rule-walk.ts';
import { commitPage, commitPlanned, refuseDenied } from '../access/standing/operations.ts';
import { removeEndedOfMount } from '../access/tokens/ending/operations.ts';
import { type App, perApp } from '../app.ts';
import { Breath } from '../core/breath.ts';
import { Failure } from '../core/failure.ts';
import { isSmallMap } from '../core/fields.ts';
import type { Answer } from '../http/route.ts';
import { bumpConfigVersion } from '../store/config-version.ts';
import { bumpPermissionVersion } from '../store/permission-version.ts';
import type { Effect, Write } from '../store/write.ts';
import { presentMounts, type Said } from './listing.ts';
import { effectiveLeaseTtls, fullPath, type Mount, type MountKind } from './mount.ts';
import { deleteAliasesOfMount } from './remains/operations.ts';
import { insertRemovedMount } from './remains/store.ts';
import { boundsOf, PLACES, planGrowth, requireRoom, type Size } from './room.ts';
import {
  describeMount,
  EMPTY_CONFIG,
  LISTS,
  type MountSettings,
  planConfig,
  planMountPath,
  requireEngineType,
} from './rules.ts';
import {
  bodyOf,
  deleteMount,
  deleteRemountsBefore,
  findClash,
  findRemount,
  findStoredMount,
  holdPlace,
  holdRoom,
  insertMount,
  insertRemount,
  listMounts,
  measureMounts,
  saveMount,
} from './store.ts';

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

interface NewMount {
  kind: MountKind;
  path: string;
  type: string;
  description: string;
  config: MountSettings;
  options: Record<string, string> | null;
  local: boolean;
  seal_wrap: boolean;
  external_entropy_access: boolean;
}

function accessorOf(app: App, mount: { kind: MountKind; type: string }): string {
  const suffix = Buffer.from(app.randomBytes(4)).toString('hex');
  return `${mount.kind === 'auth' ? 'auth_' : ''}${mount.type}_${suffix}`;
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

/** Mounts an engine at a path of its own. */
export async function enableMount(app: App, caller: Caller, input: NewMount): Promise<Answer> {
  requireEngineType(input.kind, input.type);
  return commitPlanned<Answer>(app, caller, async () => {
    const path = planMountPath(input.kind, input.path);
    const clash = await findClash(app.db, { kind: input.kind, path });
    if (clash !== undefined) throw inUse(clash);
    const mount: Mount = {
      id: app.newId(),
      kind: input.kind,
      path,
      type: input.type,
      accessor: accessorOf(app, input),
      description: input.description,
      local: input.local,
      seal_wrap: input.seal_wrap,
      external_entropy_access: input.external_entropy_access,
      options: input.options,
      config: planConfig(EMPTY_CONFIG, input.config),
    };
    const bytes = planGrowth(undefined, { mount, bytes: bytesOf(mount) });
    const room = await planRoom(app, caller, mount.kind, { count: 1, bytes });
    return {
      effects: [insertMount(mount), bumpConfigVersion(), holdPlace(mount), ...room],
      result: {},
    };
  });
}

const inUse = (path: string): Failure =>
  new Failure('invalid', `path is already in use at ${path}`);

const bytesOf = (mount: Mount): number => Buffer.byteLength(bodyOf(mount));

/** @throws Failure `invalid` when there is no room for so much more */
async function planRoom(app: App, caller: Caller, kind: MountKind, more: Size): Promise<Write[]> {
  if (more.count <= 0 && more.bytes <= 0) return [];
  const isOperator = await mayMountAnywhere(caller, kind);
  requireRoom(kind, await measureMounts(app.db, kind), more, isOperator);
  const { count, bytes } = boundsOf(isOperator);
  return [holdRoom(kind, { ...(more.count > 0 && { count }), ...(more.bytes > 0 && { bytes }) })];
}

async function mayMountAnywhere({ acl }: Caller, kind: MountKind): Promise<boolean> {
  return acl !== undefined && (await maySudo(acl, PLACES[kind]));
}

/** Removes a mount; data under its id is out of reach at once, and deleted soon after. */
export async function disableMount(
  app: App,
  caller: Caller,
  input: { kind: MountKind; path: string },
): Promise<Answer> {
  const removed = await commitPlanned<Mount | undefined>(app, caller, async () => {
    const stored = await findStoredMount(app.db, placeOf(input));
    if (!stored) return { effects: [], result: undefined };
    const { mount } = stored;
    requireRemovable(mount);
    return {
      effects: await planRemoval(app, mount),
      result: mount,
      beforehand: async () => {
        if (mount.kind === 'auth')
          await app.endDependants(app, pagesOf(app, caller), { auth_mount: mount });
      },
    };
  });
  if (removed?.kind === 'auth') {
    await deleteAliasesOfMount(app, afterwards(app, caller), removed.accessor);
    await endRevoked(app, caller, removed.id);
  }
  return {};
}

/** What ends before a removal. Log-ins that came by a mount end with it at once, and none of them before. */
function pagesOf(app: App, caller: Caller): EndingPages {
  return {
    commit: (effects, ended) => commitPage(app, caller, effects, ended),
    own_token_ids: [],
  };
}

/** What follows from a removal that is durable: whoever asked for it may have come in by what is gone. */
const afterwards = (app: App, caller: Caller) => ({
  commit: (effects: readonly Effect[]): Promise<void> =>
    commitPage(app, { ...caller, standing: undefined }, effects, {}),
});

/** As much as a request may take of what is dead already; the jobs end the rest. */
async function endRevoked(app: App, caller: Caller, mount_id: string): Promise<void> {
  try {
    await removeEndedOfMount(app, mount_id);
    await endLeasesOfRevoked(app, caller);
  } catch (err) {
    app.log.warn({ err }, 'what hung on a removed mount is ended later');
  }
}

/**
 * Whoever came in by a mount is nobody without it: tokens and leases are judged with their mount,
 * and their rows are removed later, however many they are. What whoever came in was called is deleted
 * before that is answered, when nobody can come in any more.
 */
async function planRemoval(app: App, mount: Mount): Promise<Effect[]> {
  return [
    deleteMount(mount),
    ...(mount.kind === 'auth' ? await app.planDependants(app, { auth_mount: mount }) : []),
    insertRemovedMount({
      id: mount.id,
      accessor: mount.accessor,
      removed_at: Math.floor(app.now() / 1000),
    }),
    ...bumpPermissionVersion(),
  ];
}

function requireRemovable(mount: Mount): void {
  if (['sys/', 'identity/', 'cubbyhole/', 'auth/token/'].includes(fullPath(mount))) {
    throw new Failure('invalid', `cannot unmount "${fullPath(mount)}": it belongs to the server`);
  }
}

/** What a path in a request names. */
interface Place {
  kind: MountKind;
  path: string;
}

const placeOf = ({ kind, path }: Place): Place => ({ kind, path: `${path.replace(/\/$/, '')}/` });

async function findByPath(app: App, input: Place): Promise<Mount | undefined> {
  const mount = (await readMounts(app)).get(fullPath(placeOf(input)));
  // `auth/up` as the path of a secret engine is not the way to log in that is mounted at `up`.
  return mount?.kind === input.kind ? mount : undefined;
}

/** All mounts of a kind, as `sys/mounts` and `sys/auth` answer them. */
export async function describeMounts(app: App, kind: MountKind): Promise<Answer> {
  const all = [...(await readMounts(app)).values()];
  const said = all.filter((mount) => mount.kind === kind).map(saidOf(describeMount));
  return { ...presentMounts(said), flat: true };
}

/** It is said when it is written: of many mounts that is not done at once. */
const saidOf =
  (describe: (mount: Mount) => object) =>
  (mount: Mount): Said[number] => [mount.path, () => describe(mount)];

export async function readMount(
  app: App,
  input: { kind: MountKind; path: string },
): Promise<Answer> {
  const mount = await findByPath(app, input);
  if (!mount) {
    const what = input.kind === 'auth' ? 'No auth engine at' : 'No secret engine mount at';
    throw new Failure('invalid', `${what} ${input.path.replace(/\/$/, '')}/`);
  }
  return { data: describeMount(mount), flat: true };
}

export async function readTune(
  app: App,
  input: { kind: MountKind; path: string },
): Promise<Answer> {
  const mount = await findByPath(app, input);
  if (!mount) throw untunable(input);
  const { default_ttl, max_ttl } = effectiveLeaseTtls(mount.config);
  const { config } = mount;
  const lists = Object.fromEntries(
    LISTS.filter((name) => config[name].length > 0).map((name) => [name, config[name]]),
  );
  return {
    flat: true,
    data: {
      description: mount.description,
      default_lease_ttl: default_ttl,
      max_lease_ttl: max_ttl,
      force_no_cache: config.force_no_cache,
      ...(mount.options && Object.keys(mount.options).length > 0 ? { options: mount.options } : {}),
      ...(mount.kind === 'auth' ? { token_type: config.token_type || 'default-service' } : {}),
      ...(config.listing_visibility === ''
        ? {}
        : { listing_visibility: config.listing_visibility }),
      ...lists,
    },
  };
}

function untunable(input: { kind: MountKind; path: string }): Failure {
  const path = fullPath(placeOf(input));
  return new Failure('invalid', `tune of path "${path}" failed: no mount entry found`);
}

/** Changes what is sent of a mount's settings and keeps the rest. */
export async function tuneMount(
  app: App,
  caller: Caller,
  input: {
    kind: MountKind;
    path: string;
    description?: string | undefined;
    options?: Record<string, string> | undefined;
    config: MountSettings;
  },
): Promise<Answer> {
  return commitPlanned<Answer>(app, caller, async () => {
    const stored = await findStoredMount(app.db, placeOf(input));
    if (!stored) throw untunable(input);
    const { mount } = stored;
    const next: Mount = {
      ...mount,
      description: input.description ?? mount.description,
      options: input.options ? addOptions(mount.options, input.options) : mount.options,
      config: planConfig(mount.config, input.config),
    };
    const before = { mount, bytes: Buffer.byteLength(stored.body) };
    const bytes = planGrowth(before, { mount: next, bytes: bytesOf(next) });
    const room = await planRoom(app, caller, next.kind, { count: 0, bytes });
    return { effects: [saveMount(next, stored), bumpConfigVersion(), ...room], result: {} };
  });
}

/** What is there may be made less, but no more than one request may bring. */
function addOptions(
  present: Mount['options'],
  more: Record<string, string>,
): Record<string, string> {
  const options = { ...present, ...more };
  if (isSmallMap(options)) return options;
  throw new Failure(
    'invalid',
    'options: with those that the mount has, at most 1000 names and 65536 characters in all',
  );
}

/** Moves a mount; its data belongs to its id and does not move. */
export async function remount(
  app: App,
  caller: Caller,
  input: { from: string; to: string },
): Promise<Answer> {
  // It goes from the one path and comes at the other: neither may be denied by itself.
  await refuseDenied(caller, [...pathsOfMount(input.from), ...pathsOfMount(input.to)]);
  const { source: moved } = await planMove(app, input);
  await expireOfMountBeforehand(app, pagesOf(app, caller), moved.id);
  return commitPlanned<Answer>(app, caller, async () => {
    const { stored, source, next } = await planMove(app, input);
    const id = app.newId();
    const moved_at = Math.floor(app.now() / 1000);
    const paths = { source: fullPath(source), target: fullPath(next) };
    return {
      effects: [
        saveMount(next, stored),
        // Their ids begin with the old path (contract 4.4).
        expireLeasesOfMount(source.id, moved_at),
        deleteRemountsBefore(moved_at - REMEMBERED),
        insertRemount({ id, ...paths, status: 'success', moved_at }),
        ...bumpPermissionVersion(),
        holdPlace(next),
      ],
      result: {
        data: { migration_id: id },
        warnings: [
          'Mount migration has been queued. Progress will be reported in the server logs.',
        ],
      },
    };
  });
}

/** @throws Failure `invalid` for what is not there or not to be moved, and a path that it cannot have */
async function planMove(app: App, input: { from: string; to: string }) {
  const stored = await findStoredMount(app.db, sourceOf(input.from));
  if (!stored) throw new Failure('invalid', `no matching mount at "${input.from}"`);
  const source = stored.mount;
  requireRemovable(source);
  const next: Mount = { ...source, path: await planTarget(app, source, input.to) };
  return { stored, source, next };
}

/** Where a mount is made and removed. */
const pathsOfMount = (place: string): { path: string }[] => [
  { path: `sys/mounts/${place}` },
  ...(place.startsWith('auth/') ? [{ path: `sys/${place}` }] : []),
];

function sourceOf(from: string): Place {
  const path = `${from}/`;
  return path.startsWith('auth/')
    ? { kind: 'auth', path: path.slice('auth/'.length) }
    : { kind: 'secret', path };
}

/** @throws Failure `invalid` for a path that the mount cannot have */
async function planTarget(app: App, source: Mount, target: string): Promise<string> {
  if (source.kind === 'auth' && !target.startsWith('auth/')) {
    throw new Failure('invalid', `cannot remount auth mount to non-auth mount "${target}/"`);
  }
  const wanted = source.kind === 'auth' ? target.slice('auth/'.length) : target;
  const { kind } = source;
  const clash = await findClash(app.db, { kind, path: `${wanted}/` }, source.path);
  if (clash === `${wanted}/`) throw new Failure('invalid', `path already in use at "${target}/"`);
  const path = planMountPath(kind, wanted);
  if (clash !== undefined) throw inUse(clash);
  return path;
}

/** A move that is over can be asked about for a day; seconds. */
const REMEMBERED = 24 * 3600;

export async function readRemount(app: App, input: { id: string }): Promise<Answer> {
  const move = await findRemount(app.db, input.id);
  if (!move) throw new Failure('not_found', '');
  return {
    data: {
      migration_id: move.id,
      migration_info: { source_mount: move.source, target_mount: move.target, status: move.status },
    },
  };
}

/** What the caller may see of the mounts; without a token, those listed for everybody. */
export async function listVisibleMounts(app: App, caller: Caller): Promise<Answer> {
  if (!caller.acl && caller.wrap_ttl === undefined) {
    return { data: {}, written_data: await readListed(app) };
  }
  const groups = await whileThere(caller, (requireThere) =>
    groupVisible(app, caller.acl, new RuleWalk(requireThere)),
  );
  return presentMounts(groups);
}

async function groupVisible(
  app: App,
  acl: Acl | undefined,
  walk: RuleWalk,
): Promise<Record<MountKind, Said[number][]>> {
  const groups: Record<MountKind, Said[number][]> = { secret: [], auth: [] };
  const breath = new Breath();
  for (const mount of (await readMounts(app)).values()) {
    await breath.take();
    if (acl && (await hasAccessBeneath(acl, fullPath(mount), walk))) {
      groups[mount.kind].push(saidOf(describeMount)(mount));
    } else if (mount.config.listing_visibility === 'unauth') {
      groups[mount.kind].push(saidOf(describeListed)(mount));
    }
  }
  return groups;
}

const describeListed = ({ type, description, options }: Mount) => ({ type, description, options });

/** What everybody may see. It may have megabytes, and anybody asks as often as they like: it is written once. */
export function readListed(app: App): Promise<Uint8Array> {
  return app.cached('mounts that everybody sees', () => writeListed(app), ['mounts']);
}

async function writeListed(app: App): Promise<Uint8Array> {
  const groups: Record<MountKind, string[]> = { secret: [], auth: [] };
  const breath = new Breath();
  for (const mount of (await readMounts(app)).values()) {
    await breath.take();
    if (mount.config.listing_visibility !== 'unauth') continue;
    const about = JSON.stringify(describeListed(mount));
    groups[mount.kind].push(`${JSON.stringify(mount.path)}:${about}`);
  }
  return Buffer.from(`"secret":{${groups.secret.join()}},"auth":{${groups.auth.join()}}`);
}

export async function readVisibleMount(
  app: App,
  caller: Caller,
  input: { path: string },
): Promise<Answer> {
  const wanted = input.path.replace(/\/$/, '');
  const walk = new RuleWalk();
  for (const [path, mount] of await readMounts(app)) {
    if (!`${wanted}/`.startsWith(path)) continue;
    const verdict =
      caller.acl &&
      (await judgeAccess(caller.acl, { path: wanted, operation: 'read', sudoRequired: false }));
    if (verdict?.allowed || (caller.acl && (await hasAccessBeneath(caller.acl, path, walk)))) {
      return { data: { ...describeMount(mount), path: mount.path } };
    }
  }
  throw new Failure(
    'forbidden',
    `preflight capability check returned 403, please ensure client's policies grant access to path "${wanted}/"`,
  );
}
