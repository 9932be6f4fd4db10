import { Cryptoki } from './cryptoki.client.ts';
import { type Answer, type Order, RefusedOrder } from './orders.ts';
import { Tokens } from './token.client.ts';

// The entry of the process that has one module loaded. A call into it lasts as long as the device takes, nobody can
// break it off, and a fault of the module ends the process that it is in: so it is one that can be killed. It is
// given one order at a time, and ends with whoever gives them.

const [path = ''] = process.argv.slice(2);
let tokens: Tokens | undefined;

function answer(order: Order & { id: number }): Answer {
  const { id } = order;
  try {
    tokens ??= new Tokens(new Cryptoki(path));
    return { ...tokens.carryOut(order), id };
  } catch (error) {
    if (error instanceof RefusedOrder) {
      return { id, type: 'refused', refusal: error.refusal, message: error.message };
    }
    // The message may be about what it was given.
    const what = error instanceof Error ? error.name : 'an error';
    return { id, type: 'refused', refusal: 'lost', message: `the module's process had ${what}` };
  }
}

process.on('message', (order: Order & { id: number }) => process.send?.(answer(order)));
process.on('disconnect', () => process.exit(0));
// A key press at a terminal is for the server, which ends this when it has ended.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
