import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { withoutTrailing } from '../../core/edges.ts';
import { invalid } from '../../core/failure.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { hashSecret } from '../operations.ts';
import { checkFileSink } from '../sinks/file.store.ts';
import { ownFolders } from '../sinks/sink.ts';
import { chainOf, deleteCursor } from '../store.ts';
import { type Device, deviceSinkName, planDevice, requireDeviceType } from './device.ts';
import { deleteDevice, insertDevice, listDevices } from './store.ts';

export async function describeDevices(app: App): Promise<DataResult<Record<string, Device>>> {
  const devices = await listDevices(app.db);
  return {
    data: Object.fromEntries(devices.map(({ id: _, ...device }) => [device.path, device])),
  };
}

/**
 * Enables a device; every node feeds its records to it from then on, the earlier ones first: also at a path where
 * another was before, whatever that one has been sent.
 */
export async function enableDevice(
  app: App,
  caller: Caller,
  input: Device,
): Promise<NothingResult> {
  const path = devicePath(input.path);
  const type = requireDeviceType(input.type);
  if ((await listDevices(app.db)).some((known) => known.path === path)) {
    throw invalid('path already in use');
  }
  const target = planDevice(type, input.options);
  if (target.type === 'file') {
    const kept_apart = ownFolders(app.config);
    const chain = chainOf(app.config, app);
    await checkFileSink(target.path, { mode: target.mode, kept_apart, chain });
  }
  const device = { ...input, path, type, id: app.newId() };
  await app.commit(caller, [insertDevice(device), bumpConfigVersion()]);
  return {};
}

/** Disables a device; none at the path is no mistake. */
export async function disableDevice(
  app: App,
  caller: Caller,
  input: { path: string },
): Promise<NothingResult> {
  const path = devicePath(input.path);
  const present = (await listDevices(app.db)).filter((known) => known.path === path);
  await app.commit(caller, [
    deleteDevice(path),
    ...present.map((device) => deleteCursor(deviceSinkName(device))),
    bumpConfigVersion(),
  ]);
  return {};
}

/** The form in which a token stands in records, so that it can be looked for. */
export async function hashForRecords(
  app: App,
  _caller: Caller,
  input: { path: string; input: string },
): Promise<DataResult<{ hash: string }>> {
  if (input.input === '') throw invalid('the "input" parameter is empty');
  const path = devicePath(input.path);
  if (!(await listDevices(app.db)).some((device) => device.path === path)) {
    throw invalid(`unknown audit backend "${path}"`);
  }
  return { data: { hash: hashSecret(app, input.input) } };
}

function devicePath(sent: string): string {
  return `${withoutTrailing(sent, '/')}/`;
}
