import { commitPlanned } from '../../access/standing/attempts.operations.ts';
import { maySudo } from '../../acl/grants.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { type Mount, type MountKind, placeOf } from '../../app/mount.ts';
import type { NothingResult } from '../../app/output.ts';
import { isSmallMap } from '../../core/conversions.ts';
import { invalid } from '../../core/failure.ts';
import { accessorOf } from '../../mounts/operations.ts';
import { boundsOf, PLACES, planGrowth, requireRoom, type Size } from '../../mounts/room.ts';
import {
  EMPTY_CONFIG,
  type MountSettings,
  planConfig,
  planMountPath,
  refusePathInUse,
  refuseToTune,
  requireEngineType,
  warnOfEngine,
} from '../../mounts/rules.ts';
import {
  bodyOf,
  findClash,
  findStoredMount,
  holdPlace,
  holdRoom,
  insertMount,
  measureMounts,
  saveMount,
} from '../../mounts/store.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import type { Write } from '../../store/write.ts';

type NewMount = Omit<Mount, 'id' | 'accessor' | 'config'> & { config: MountSettings };

/** Mounts an engine at a path of its own. */
export async function enableMount(
  app: App,
  caller: Caller,
  input: NewMount,
): Promise<NothingResult> {
  requireEngineType(input.kind, input.type);
  const warnings = warnOfEngine(input.kind, input.type);
  return commitPlanned<NothingResult>(app, caller, async () => {
    const path = planMountPath(input.kind, input.path);
    const clash = await findClash(app.db, { kind: input.kind, path });
    if (clash !== undefined) throw refusePathInUse(clash);
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
      result: warnings.length > 0 ? { warnings } : {},
    };
  });
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
): Promise<NothingResult> {
  return commitPlanned<NothingResult>(app, caller, async () => {
    const stored = await findStoredMount(app.db, placeOf(input));
    if (!stored) throw refuseToTune(input);
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
  throw invalid(
    'options: with those that the mount has, at most 1000 names and 65536 characters in all',
  );
}

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
