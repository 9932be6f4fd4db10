import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { HOP_PROTOCOL, TICKET_MS } from '../wire/hop.ts';
import { Tickets } from './tickets.ts';

/** A connection of a worker that has proved itself and says its ticket. */
class Visitor extends EventEmitter {
  readonly authorized = true;
  readonly alpnProtocol = HOP_PROTOCOL;
  destroyed = false;
  readonly #ticket: string;

  constructor(ticket: string) {
    super();
    this.#ticket = ticket;
  }

  getPeerX509Certificate(): { subjectAltName: string } {
    return { subjectAltName: 'DNS:w_a' };
  }

  read(): Buffer {
    return Buffer.from(this.#ticket, 'base64');
  }

  destroy(): void {
    this.destroyed = true;
  }
}

for (const { ms, isLate } of [
  { ms: TICKET_MS - 1, isLate: false },
  { ms: TICKET_MS, isLate: true },
]) {
  test(`who comes after ${ms} ms, while it is still being sent, is ${isLate ? 'sent away' : 'met'}`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const tickets = new Tickets();
    const sent = Promise.withResolvers<{ worker_id: string }>();
    let shown = '';
    const met = tickets.meet((ticket) => {
      shown = ticket;
      return sent.promise;
    });
    t.mock.timers.tick(ms);
    const visitor = new Visitor(shown);
    tickets.admit(visitor as unknown as TLSSocket);
    visitor.emit('readable');
    sent.resolve({ worker_id: 'w_a' });
    if (isLate) await assert.rejects(met, /nobody has come/);
    else await met;
    assert.equal(visitor.destroyed, isLate);
  });
}

test('a worker is awaited that shows a ticket, once, and no other', async () => {
  const tickets = new Tickets();
  let awaited = 0;
  const destroyed: boolean[] = [];
  await tickets.meet(async (ticket) => {
    for (const shown of [Buffer.alloc(32).toString('base64'), ticket, ticket]) {
      const visitor = new Visitor(shown);
      tickets.admit(visitor as unknown as TLSSocket, () => {
        awaited += 1;
      });
      visitor.emit('readable');
      destroyed.push(visitor.destroyed);
    }
    return { worker_id: 'w_a' };
  });
  assert.deepEqual([awaited, destroyed], [1, [true, false, true]]);
});
