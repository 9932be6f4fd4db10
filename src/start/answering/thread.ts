import { writeSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { pino } from 'pino';
import { namesOfPaths } from '../../access/capabilities/operations.ts';
import { hearFromOthers, oneForAll } from '../../app/one-for-all.ts';
import { handRecordsOn } from '../../audit/handing-on.operations.ts';
import { threadsOf } from '../../config/threads.ts';
import { Failure } from '../../core/failure.ts';
import { compileDialects } from '../../http/dialects.ts';
import { answeredElsewhere } from '../../http/frame.ts';
import { createServer } from '../../http/server.ts';
import { compileRelyingParties } from '../../http/vault/relying-parties.ts';
import { findNames } from '../../http/vault/target.ts';
import { readMeters } from '../../metrics/meters.operations.ts';
import { joinStore } from '../../store/store.ts';
import { buildApp } from '../build-app.ts';
import { LogLines } from '../log-lines.ts';
import { compileRouters, relyingPartyRouters } from '../routes.ts';
import { Dialogue } from './dialogue.ts';
import { Forwarding } from './forwarding.ts';
import type { AnsweringOptions, Asked, Said } from './messages.ts';
import { readersOfThread } from './share.ts';

// One of the threads that answer: it has connections of its own, reads for itself, and writes by the committer that all
// have. What is in one place for all is asked of the supervisor.

const { place, config, store: shared, keys, tls, records }: AnsweringOptions = workerData;
const port = parentPort;
if (!port) throw new TypeError('this is started as a thread');

// What a request makes is to go with it (docs/adr/0008-hot-path.md).
setFlagsFromString('--no-allocation-site-pretenuring');
const log = pino({ level: config.log_level }, new LogLines((bytes) => writeSync(2, bytes)));

const dialogue = new Dialogue(port, { answer, hear });
const forwarding = new Forwarding(dialogue);
const store = joinStore(
  shared,
  {
    confirmConfig: async () => (await dialogue.ask({ type: 'confirm config' })) as number,
    refreshConfig: async () => void (await dialogue.ask({ type: 'refresh config' })),
  },
  { log, pool: readersOfThread(threadsOf(config)) },
);
const closers: (() => Promise<void> | void)[] = [() => store.close()];
const app = buildApp(config, store, log, Date.now, closers);
Object.assign(oneForAll(app), {
  place,
  ask: (name: string, argument: unknown) => dialogue.ask({ type: 'do', name, argument }),
  tell: (name: string, told: unknown) => dialogue.say({ type: 'tell', name, told }),
});
handRecordsOn(app, records);
answeredElsewhere(app).ask = (request, door) => forwarding.forward(request, door);
if (keys) await app.barrier.follow(keys);

const routers = compileRouters();
namesOfPaths(app).find = (path) => findNames(app, routers, path);
const http = createServer(app, config, (closing) => compileDialects(app, routers, closing), tls);
const { public_listener } = config;
const open =
  public_listener &&
  createServer(app, public_listener, () => compileRelyingParties(app, relyingPartyRouters()));

dialogue.say({
  type: 'listening',
  address: await http.listen(config.listen, { isShared: true }),
  public_address: await open?.listen(public_listener?.listen ?? config.listen, { isShared: true }),
});

function answer(asked: Asked): unknown {
  switch (asked.type) {
    case 'keys':
      return app.barrier.follow(asked.keys);
    case 'seal':
      return app.barrier.seal();
    case 'read body':
      return forwarding.readBody(asked.request, asked.limit);
    case 'meters':
      return readMeters(app);
    case 'write records':
      return app.audit.close();
    case 'stop':
      return stop();
    default:
      throw new Failure('unsupported', `a thread that answers is not asked for ${asked.type}`);
  }
}

function hear(said: Said): void {
  if (said.type === 'tell') hearFromOthers(app, said.name, said.told);
  if (said.type === 'tls') http.reloadTls(said.files);
}

async function stop(): Promise<void> {
  await Promise.all([http.close(), open?.close()]);
  for (let close = closers.pop(); close; close = closers.pop()) await close();
  // After the answer.
  setImmediate(() => {
    dialogue.flush();
    port?.close();
  });
}
