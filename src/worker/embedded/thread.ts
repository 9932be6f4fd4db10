import { parentPort } from 'node:worker_threads';
import { Failure } from '../../core/failure.ts';
import { Carrier } from '../carrying/carrier.ts';
import type { Call } from '../upstream.ts';
import { batched } from './batched.ts';
import type { FromThread, ToThread } from './messages.ts';

// The entry of a thread that carries sessions: what flows through them holds up nobody else.

const waiting = new Map<number, PromiseWithResolvers<unknown>>();
let next = 0;

const send = batched<FromThread>((messages) => parentPort?.postMessage(messages));

/** The server's answers are of the calls' own types: both are one program. */
function ask(call: Call): Promise<never> {
  const id = next++;
  const answer = Promise.withResolvers<unknown>();
  waiting.set(id, answer);
  send({ type: 'call', id, ...call });
  return answer.promise as Promise<never>;
}

const carrier = new Carrier({
  lookUp: (request) => ask({ name: 'lookUp', request }),
  activate: (request) => ask({ name: 'activate', request }),
  cancel: (request) => ask({ name: 'cancel', request }),
  authorize: (request) => ask({ name: 'authorize', request }),
  reach: (request) => ask({ name: 'reach', request }),
  connect: (request) => ask({ name: 'connect', request }),
  logIn: (request) => ask({ name: 'logIn', request }),
  close: (request) => ask({ name: 'close', request }),
  record: (request) => ask({ name: 'record', request }),
});

async function listen(at: { host: string; port: number }): Promise<void> {
  try {
    const { port } = await carrier.listen(at);
    send({ type: 'listening', port });
  } catch (error) {
    const { message, code = '' } = error as NodeJS.ErrnoException;
    send({ type: 'failed', message, code, port: at.port });
  }
}

async function bring({ id, errand }: ToThread & { type: 'bring' }): Promise<void> {
  try {
    send({ type: 'brought', id, ...(await carrier.bring(errand)) });
  } catch (error) {
    const why = error instanceof Failure ? error.message : 'the worker has failed';
    send({ type: 'not brought', id, why });
  }
}

async function close(): Promise<void> {
  await carrier.close();
  send({ type: 'closed' });
  // Behind what was said.
  setImmediate(() => parentPort?.close());
}

parentPort?.on('message', (messages: readonly ToThread[]) => {
  for (const message of messages) hear(message);
});

function hear(message: ToThread): void {
  switch (message.type) {
    case 'listen':
      void listen(message);
      break;
    case 'answered':
      waiting.get(message.id)?.resolve(message.answer);
      waiting.delete(message.id);
      break;
    case 'refused':
      waiting.get(message.id)?.reject(new Failure(message.kind, message.message));
      waiting.delete(message.id);
      break;
    case 'cut':
      carrier.cut(message.cuts, message.connection_ids);
      break;
    case 'prove':
      carrier.prove(message.credentials);
      break;
    case 'bring':
      void bring(message);
      break;
    case 'cut all':
      carrier.cutAll('system error');
      break;
    case 'report':
      send({ type: 'carried', id: message.id, carried: carrier.carried() });
      break;
    case 'close':
      void close();
      break;
  }
}
