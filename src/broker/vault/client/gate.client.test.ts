import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { startHostile } from '../../../../test/support/hostile-vault.ts';
import { tooLong } from './coming.ts';
import { Gate } from './gate.client.ts';
import { ServerFlight } from './server-flight.ts';
import { Shares } from './shares.ts';

const PIECE = 16 << 10;
const MOST = 64 << 10;

/** Turns of a thread, taken by hand. */
function newTurns(): { shares: Shares; take(): void } {
  const next: (() => void)[] = [];
  const clock = { now: () => 0, spent: () => 0, next: (work: () => void) => void next.push(work) };
  return {
    shares: new Shares(clock),
    take: () => {
      for (const work of next.splice(0)) work();
    },
  };
}

test('what comes is looked at, and decrypted, in turns alone and piece by piece', async (t) => {
  // Alerts, which are handed on as they come.
  const alert = Buffer.of(21, 3, 3, 0, 2, 1, 0);
  const sent = Buffer.concat(Array.from({ length: 5_000 }, () => alert));
  const server = await startHostile((socket) => void socket.end(sent));
  t.after(() => server.stop());
  const looks: number[] = [];
  const flight = new ServerFlight(MOST);
  const clear = flight.clear.bind(flight);
  t.mock.method(flight, 'clear', (come: Buffer) => {
    looks.push(come.length);
    return clear(come);
  });
  const { shares, take } = newTurns();
  const [host, port] = server.at.split(':');
  const raw = new Socket();
  const gate = new Gate(raw, {
    shares,
    accounts: () => ['a'],
    most: MOST,
    tooLong: tooLong(),
    flight,
  });
  t.after(() => void gate.destroy());
  let come = 0;
  gate.on('data', (piece: Buffer) => {
    come += piece.length;
  });
  const first = once(raw, 'data');
  raw.connect(Number(port), host ?? '');
  await first;
  assert.deepEqual(looks, []);
  const ended = once(gate, 'end');
  const turning = setInterval(take);
  t.after(() => clearInterval(turning));
  await ended;
  assert.equal(come, sent.length);
  assert.ok(looks.length > 1 && Math.max(...looks) <= PIECE, looks.join());
});
