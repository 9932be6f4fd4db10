import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type CutNetwork, findNetworks, makeNetwork } from '../support/networks.ts';
import { inReverse, type Scope } from '../support/node-process.ts';
import {
  addTarget,
  addWorker,
  beginSession,
  type CarryingServer,
  connectionsOf,
  type Endpoint,
  echo,
  eventually,
  overOf,
  startCarryingServer,
  startEndpoint,
  type WorkerProcess,
} from '../support/workers-alone.ts';

// Networks that lose what is sent, without a word to anybody, while sessions are carried.

const skip = findNetworks();

/** A worker in a network of its own; server, clients and endpoints are on this machine. */
interface Placed {
  network: CutNetwork;
  server: CarryingServer;
  id: string;
  worker: WorkerProcess;
  /** Of the worker, where clients come to. */
  address: string;
}

const tags = { type: ['edge'] };
const EDGE = { egress_worker_filter: '"edge" in "/tags/type"' };

async function startPlaced(test: Scope): Promise<Placed> {
  const network = makeNetwork(test);
  const server = await startCarryingServer(test, { host: network.addresses.server });
  const listener = { address: `${network.inside}:0` };
  const settings = { name: 'inside', listener, tags };
  const { id, worker } = await addWorker(test, server, settings, network.command);
  const address = (await server.call('GET', `workers/${id}`)).textAt('address');
  return { network, server, id, worker, address };
}

/** A target that the worker inside reaches. */
const targetTo = ({ server, network }: Placed, { port }: Endpoint, filter = EDGE) =>
  addTarget(server, {
    ...filter,
    address: network.addresses.endpoint,
    session_connection_limit: -1,
    attributes: { default_port: port },
  });

const startEchoTo = (test: Scope, { network }: Placed): Promise<Endpoint> =>
  startEndpoint(test, (socket) => socket.pipe(socket), network.addresses.endpoint);

const PIECE = 32 << 10;

/** Sends piece after piece, each once the one before has come back, as it was sent. */
function flow(stream: Duplex): { bytes(): number; stop(): Promise<void>; failed: Promise<never> } {
  let isStopped = false;
  let bytes = 0;
  const carry = async (): Promise<void> => {
    const back = stream.iterator({ destroyOnReturn: false });
    while (!isStopped) {
      const piece = randomBytes(PIECE);
      stream.write(piece);
      const parts: Buffer[] = [];
      for (let got = 0; got < PIECE; ) {
        const { value, done } = await back.next();
        assert.ok(!done, 'it is not over');
        parts.push(value);
        got += value.length;
      }
      assert.ok(Buffer.concat(parts).equals(piece), 'every byte as it was sent');
      bytes += PIECE;
      await wait(2);
    }
    // Whoever reads on, reads all.
    await back.return?.();
  };
  const running = carry();
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => {});
  running.catch(reject);
  return {
    bytes: () => bytes,
    failed,
    stop: () => {
      isStopped = true;
      return running;
    },
  };
}

/** When what flows has gone on by some pieces. */
async function goesOn(flowing: ReturnType<typeof flow>): Promise<void> {
  const before = flowing.bytes();
  await Promise.race([
    flowing.failed,
    eventually(async () => assert.ok(flowing.bytes() > before + 10 * PIECE), 10_000),
  ]);
}

const reasonOf = async (server: CarryingServer, session_id: string) =>
  (await connectionsOf(server, session_id))[0]?.closed_reason;

/** When a worker has just reported. */
async function reported({ server, id }: Placed): Promise<void> {
  const last = async () => (await server.call('GET', `workers/${id}`)).field('last_status_time');
  const before = await last();
  await eventually(async () => assert.notEqual(await last(), before), 15_000);
}

// Most of it is waiting.
describe('networks that are cut', { skip, concurrency: 2 }, () => {
  test('what flows through a worker goes on while its server is cut off for less than the grace', async (t) => {
    const suite = inReverse(t);
    const placed = await startPlaced(suite);
    const { network, server, worker } = placed;
    const endpoint = await startEchoTo(suite, placed);
    const target = await targetTo(placed, endpoint);
    const session = await beginSession(server, target);
    assert.deepEqual(session.worker_addresses, [placed.address]);
    const stream = await session.open();
    const flowing = flow(stream);
    await goesOn(flowing);
    await reported(placed);
    network.cut('server');
    const cut = performance.now();
    // Longer than a worker waits for its server until it tries to come anew.
    while (performance.now() - cut < 11_000) {
      await goesOn(flowing);
      await wait(500);
    }
    network.mend('server');
    await eventually(async () => {
      assert.equal(worker.log().split('the worker is at work').length - 1, 2, worker.log());
    }, 10_000);
    // Longer than the grace, and for whoever looks for what is lost.
    while (performance.now() - cut < 24_000) {
      await goesOn(flowing);
      await wait(500);
    }
    assert.equal(await reasonOf(server, session.id), undefined);
    await echo(await session.open(), 'a new connection');
    await echo(await (await beginSession(server, target)).open(), 'a new session');
    await flowing.stop();
    const over = overOf(stream);
    stream.end();
    await over;
    await eventually(async () => {
      const closed = (await connectionsOf(server, session.id)).find((one) => one.closed_reason);
      assert.equal(closed?.closed_reason, 'closed by end-user');
      assert.equal(closed.bytes_up, String(flowing.bytes()), 'and every byte is counted');
      assert.equal(closed.bytes_down, closed.bytes_up);
    }, 10_000);
  });

  test('a server that is cut off for longer than the grace ends it, and gives the worker nothing until it is back', async (t) => {
    const suite = inReverse(t);
    const placed = await startPlaced(suite);
    const { network, server } = placed;
    const { worker: other, id: other_id } = await addWorker(suite, server, { name: 'other', tags });
    const other_address = (await server.call('GET', `workers/${other_id}`)).textAt('address');
    const endpoint = await startEchoTo(suite, placed);
    const alone = await targetTo(placed, endpoint, {
      egress_worker_filter: '"/name" == "inside"',
    });
    const either = await targetTo(placed, endpoint);
    const begun = await beginSession(server, either);
    assert.deepEqual(
      new Set(begun.worker_addresses),
      new Set([placed.address, other_address]),
      other.log(),
    );

    const session = await beginSession(server, alone);
    const stream = await session.open();
    await echo(stream, 'before');
    const over = overOf(stream);
    network.cut('server');
    const cut = performance.now();
    await over;
    const lasted = performance.now() - cut;
    assert.ok(lasted > 8_000 && lasted < 17_000, `it ran on for ${Math.round(lasted)} ms`);
    const tried = placed.worker.log().split('it does not answer').length - 1;
    assert.ok(tried >= 2, `it has tried ${tried} times within the grace`);
    await eventually(async () => assert.equal(endpoint.sockets.size, 0), 5_000);
    await eventually(async () => {
      assert.equal(await reasonOf(server, session.id), 'system error');
    }, 24_000);

    const refused = await server.project.admin.call(
      'POST',
      `targets/${alone}:authorize-session`,
      {},
    );
    assert.equal(refused.status, 500, refused.text);
    assert.match(refused.text, /No workers are available/);
    const meanwhile = await beginSession(server, either);
    assert.deepEqual(meanwhile.worker_addresses, [other_address]);
    await echo(await meanwhile.open(), 'through the other');

    network.mend('server');
    const later = await eventually(() => beginSession(server, alone), 20_000);
    assert.deepEqual(later.worker_addresses, [placed.address]);
    await echo(await later.open(), 'it is back');
    assert.equal(await reasonOf(server, session.id), 'system error', 'that stays as it was told');
  });

  for (const [lost, way, sender] of [
    ['clients', 'client', 'endpoint'],
    ['the endpoint', 'endpoint', 'client'],
  ] as const) {
    test(`a worker that is cut off from ${lost} ends what it carries, silent or not`, async (t) => {
      const suite = inReverse(t);
      const placed = await startPlaced(suite);
      const { network, server } = placed;
      // What was sent and is not acknowledged is the system's to give up: a quarter of an hour, unless it is told otherwise.
      network.set('net/ipv4/tcp_retries2', '5');
      const silent = await beginSession(
        server,
        await targetTo(placed, await startEchoTo(suite, placed)),
      );
      const pouring = (stream: Duplex): void => {
        const pour = (): void => {
          while (!stream.destroyed && stream.write(Buffer.alloc(PIECE)));
        };
        stream.on('drain', pour);
        pour();
      };
      const endpoint = await startEndpoint(
        suite,
        (socket) => (sender === 'endpoint' ? pouring(socket) : socket.resume()),
        network.addresses.endpoint,
      );
      const busy = await beginSession(server, await targetTo(placed, endpoint));
      const quiet = await silent.open();
      await echo(quiet, 'before');
      const stream = await busy.open();
      const overs = [overOf(quiet), overOf(stream)];
      if (sender === 'client') pouring(stream);
      else await once(stream, 'data');
      await wait(1_000);
      network.cut(way);
      const cut = performance.now();
      const closedAt = async (session_id: string): Promise<number> => {
        await eventually(async () => {
          assert.equal(await reasonOf(server, session_id), 'network error');
        }, 60_000);
        return performance.now() - cut;
      };
      const [quiet_ms, busy_ms] = await Promise.all([closedAt(silent.id), closedAt(busy.id)]);
      t.diagnostic(`silent: ${Math.round(quiet_ms)} ms, busy: ${Math.round(busy_ms)} ms`);
      assert.ok(quiet_ms > 20_000, 'silence alone is no reason');
      if (way === 'endpoint') await Promise.all(overs);
      else await eventually(async () => assert.equal(endpoint.sockets.size, 0), 5_000);
      network.mend(way);
      await echo(await silent.open(), 'afterwards');
    });
  }
});
