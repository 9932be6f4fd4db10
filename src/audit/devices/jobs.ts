import { sinkName } from '../../config/audit-sink.ts';
import { type Config, nodeName } from '../../config/config.ts';
import { onceAtATime } from '../../core/fairness/once-at-a-time.ts';
import type { StoreLog } from '../../store/committer.ts';
import type { Store } from '../../store/store.ts';
import { type OwnChain, openFileSink } from '../sinks/file.store.ts';
import { createForwarder, type Forwarder } from '../sinks/jobs.ts';
import { ownFolders, retryPause, type Sink } from '../sinks/sink.ts';
import { openStdoutSink } from '../sinks/stdout.store.ts';
import { openSocketSink, openSyslogSink } from '../sinks/syslog.store.ts';
import { chainOf } from '../store.ts';
import {
  type DeviceTarget,
  deviceSinkName,
  type KeptDevice,
  planDevice,
  requireDeviceType,
} from './device.ts';
import { listDevices } from './store.ts';

/** Feeds the sinks of the configuration and the devices enabled over the API, as they come and go. */
export async function startFeeding(
  config: Config,
  store: Store,
  log: StoreLog,
): Promise<Pick<Forwarder, 'wake' | 'reopen' | 'close'>> {
  const forwarder = createForwarder({ store, node: nodeName(config), log });
  const chain = chainOf(config, store);
  for (const sink of config.audit.sinks) {
    forwarder.add(
      sinkName(sink),
      openSink(config, chain, sink.type === 'file' ? { ...sink, mode: 0o600 } : sink),
    );
  }
  const devices = followDevices(
    forwarder,
    (device) => openDevice(config, chain, device),
    store,
    log,
  );
  await devices.refresh();
  await forwarder.forgetOthers();
  store.onConfigChange(devices.refreshSoon);
  // Changes since the first read were not notified of.
  devices.refreshSoon();
  return {
    wake: forwarder.wake,
    reopen: forwarder.reopen,
    async close() {
      devices.stop();
      await forwarder.close();
    },
  };
}

/** Keeps what is fed as the devices are. */
function followDevices(
  forwarder: Forwarder,
  open: (device: KeptDevice) => Sink,
  store: Pick<Store, 'db'>,
  log: StoreLog,
): { refresh(): Promise<void>; refreshSoon(): void; stop(): void } {
  const fixed = new Set(forwarder.names());
  let stopped = false;
  let failures = 0;
  let again: NodeJS.Timeout | undefined;

  const fail = (err: unknown): void => {
    if (stopped) return;
    failures += 1;
    const why = err instanceof Error ? err.message : String(err);
    if (failures === 1) log.error({ why }, 'audit devices could not be followed; tried again');
    clearTimeout(again);
    again = setTimeout(refreshSoon, retryPause(failures)).unref();
  };
  const refresh = async (): Promise<void> => {
    const devices = new Map(
      (await listDevices(store.db)).map((device) => [deviceSinkName(device), device]),
    );
    if (stopped) return;
    const present = new Set(forwarder.names());
    // All that go end at once; none of them is waited for before another ends or begins.
    for (const name of present) {
      if (!fixed.has(name) && !devices.has(name)) forwarder.remove(name).catch(fail);
    }
    for (const [name, device] of devices) if (!present.has(name)) forwarder.add(name, open(device));
  };
  const refreshSoon = onceAtATime(async () => {
    try {
      await refresh();
      if (failures === 0) return;
      await forwarder.forgetOthers();
      failures = 0;
      log.info({}, 'audit devices are followed again');
    } catch (err) {
      fail(err);
    }
  });
  return {
    refresh,
    refreshSoon,
    stop() {
      stopped = true;
      clearTimeout(again);
    },
  };
}

/**
 * What cannot be planned, as it was enabled before that was refused or by a version that knows more types, takes nothing,
 * and its progress stays what it is: the others are fed all the same.
 */
function openDevice(config: Config, chain: OwnChain, { type, options }: KeptDevice): Sink {
  try {
    return openSink(config, chain, planDevice(requireDeviceType(type), options));
  } catch (error) {
    return { put: () => Promise.reject(error), reopen: () => {}, close: async () => {} };
  }
}

function openSink(
  config: Config,
  chain: OwnChain,
  target:
    | DeviceTarget
    | { type: 'file'; path: string; mode: number }
    | { type: 'syslog'; address: string; facility: string; tag: string },
): Sink {
  switch (target.type) {
    case 'file':
      return openFileSink(target.path, {
        mode: target.mode,
        kept_apart: ownFolders(config),
        chain,
      });
    case 'stdout':
      return openStdoutSink();
    case 'syslog':
      return openSyslogSink({ address: 'unix:///dev/log', ...target });
    case 'socket':
      return openSocketSink(
        target.address.transport === 'unix'
          ? { path: target.address.path }
          : { host: target.address.host, port: target.address.port },
      );
  }
}
