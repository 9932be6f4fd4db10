import { type Config, nodeName } from '../../config.ts';
import type { Store, StoreLog } from '../../store/store.ts';
import { type OwnChain, openFileSink } from '../sinks/file/store.ts';
import { createFeeder, type Feeder } from '../sinks/jobs.ts';
import { ownFolders, type Sink, sinkName } from '../sinks/sink.ts';
import { openStdoutSink } from '../sinks/stdout/store.ts';
import { openSocketSink, openSyslogSink } from '../sinks/syslog/store.ts';
import { chainOf } from '../store.ts';
import { type DeviceTarget, deviceSinkName, planDevice } from './device.ts';
import { listDevices } from './store.ts';

/** Feeds the sinks of the configuration and the devices enabled over the API, as they come and go. */
export async function startFeeding(
  config: Config,
  store: Store,
  log: StoreLog,
): Promise<Pick<Feeder, 'wake' | 'reopen' | 'close'>> {
  const feeder = createFeeder({ store, node: nodeName(config), log });
  const chain = chainOf(config, store);
  const fixed = config.audit.sinks.map((sink) => ({ name: sinkName(sink), sink }));
  for (const { name, sink } of fixed) {
    feeder.add(
      name,
      openSink(config, chain, sink.type === 'file' ? { ...sink, mode: 0o600 } : sink),
    );
  }
  let closed = false;

  async function followDevices(): Promise<void> {
    if (closed) return;
    const wanted = new Map<string, Sink>();
    const present = new Set(feeder.names());
    const names = new Set(fixed.map((one) => one.name));
    for (const { path, type, options } of await listDevices(store.db)) {
      const name = deviceSinkName(path);
      names.add(name);
      if (!present.has(name)) wanted.set(name, openSink(config, chain, planDevice(type, options)));
    }
    for (const name of present) if (!names.has(name)) await feeder.remove(name);
    for (const [name, sink] of wanted) feeder.add(name, sink);
  }

  let following = followDevices();
  await following;
  await feeder.forgetOthers();
  store.onConfigChange(() => {
    // One after the other: each sees what the one before it left.
    following = following.then(followDevices).catch((err: unknown) => {
      const why = err instanceof Error ? err.message : String(err);
      log.error({ why }, 'audit devices could not be read; those of before are fed');
    });
  });
  return {
    wake: feeder.wake,
    reopen: feeder.reopen,
    async close() {
      closed = true;
      await following;
      await feeder.close();
    },
  };
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
