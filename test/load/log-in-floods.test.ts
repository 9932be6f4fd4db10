import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, describe, test } from 'node:test';
import { seedIds } from '../../src/broker/seed/fixtures.ts';
import { SEED_DEFAULTS } from '../../src/config/seed.ts';
import { startTestServer } from '../support/server.ts';

// A flood comes from one address of the loopback network, right log-ins from another.
const FLOOD = '127.0.0.2';
const ELSEWHERE = '127.0.0.3';

const server = await startTestServer({ after }, { config: { seed: SEED_DEFAULTS } });
const { port } = server.running.address;
const method = seedIds(SEED_DEFAULTS.id_suffix).auth_method;

await server.call('POST', 'sys/auth/userpass', { type: 'userpass' });
await server.call('POST', 'auth/userpass/users/ann', { password: 'right' });

interface Asked {
  path: string;
  body: object;
}

interface Heard {
  status: number;
  retry_after: string | undefined;
  body: string;
}

function ask(agent: Agent, { path, body }: Asked): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { agent, host: '127.0.0.1', port, path: `/v1/${path}`, method: 'POST' },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece;
        });
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            retry_after: response.headers['retry-after'],
            body: text,
          }),
        );
      },
    );
    asked.on('error', reject);
    asked.end(JSON.stringify(body));
  });
}

const userpass = (name: string, password: string): Asked => ({
  path: `auth/userpass/login/${name}`,
  body: { password },
});
const broker = (login_name: string, password: string): Asked => ({
  path: `auth-methods/${method}:authenticate`,
  body: { attributes: { login_name, password } },
});

const APIS = [
  { api: 'userpass', right: userpass('ann', 'right'), wrong: (n: string) => userpass(n, 'wrong') },
  {
    api: 'the broker',
    right: broker(SEED_DEFAULTS.login_name, SEED_DEFAULTS.password),
    wrong: (n: string) => broker(n, 'wrong-password'),
  },
];

describe('while 80 connections of one address log in wrongly without end', () => {
  for (const { api, right, wrong } of APIS) {
    test(`right log-ins from elsewhere are answered: ${api}`, async () => {
      const heard: Heard[] = [];
      const flooding = new Agent({ keepAlive: true, localAddress: FLOOD });
      const elsewhere = new Agent({ keepAlive: true, localAddress: ELSEWHERE });
      let isOver = false;
      const refused = Promise.withResolvers<void>();
      const floods = Array.from({ length: 80 }, async (_, at) => {
        for (let n = 0; !isOver; n++) {
          const one = await ask(flooding, wrong(`nobody-${at}-${n}`));
          heard.push(one);
          if (one.status === 429) refused.resolve();
        }
      });
      // From here on it waits for itself: it has all the places that one address may have.
      await refused.promise;
      const statuses: number[] = [];
      for (let n = 0; n < 10; n++) statuses.push((await ask(elsewhere, right)).status);
      isOver = true;
      await Promise.all(floods);
      flooding.destroy();
      elsewhere.destroy();
      assert.deepEqual(statuses, new Array(10).fill(200));
      const busy = heard.find(({ status }) => status === 429);
      assert.equal(busy?.retry_after, '1');
      assert.match(busy?.body ?? '', /too many passwords are being checked/);
    });
  }
});

// Each in a network of its own, of 24 bits.
const MANY = Array.from({ length: 12 }, (_, n) => `127.1.${n}.1`);
/** After so many failures an address is one of which nobody expects better. */
const DOUBTED_AFTER = 3;

describe('while 12 networks log in wrongly without end, on three connections each', () => {
  for (const { api, right, wrong } of APIS) {
    test(`right log-ins are checked next, from known and from new addresses: ${api}`, async () => {
      const known = new Agent({ keepAlive: true, localAddress: ELSEWHERE });
      assert.equal((await ask(known, right)).status, 200);
      let checked = 0;
      let isOver = false;
      const doubted = Promise.withResolvers<void>();
      const floods = MANY.flatMap((localAddress) => {
        return [1, 2, 3].map(async (at) => {
          const agent = new Agent({ keepAlive: true, localAddress });
          for (let n = 0; !isOver; n++) {
            const { status } = await ask(agent, wrong(`nobody-${localAddress}-${at}-${n}`));
            if (status === 429) continue;
            checked += 1;
            if (checked >= MANY.length * (DOUBTED_AFTER + 2)) doubted.resolve();
          }
          agent.destroy();
        });
      });
      await doubted.promise;
      const overtaken: number[] = [];
      const statuses: number[] = [];
      const logIn = async (agent: Agent): Promise<void> => {
        const before = checked;
        statuses.push((await ask(agent, right)).status);
        overtaken.push(checked - before);
      };
      for (let n = 0; n < 5; n++) {
        await logIn(known);
        const fresh = new Agent({ localAddress: `127.200.${api.length}.${n + 1}` });
        await logIn(fresh);
        fresh.destroy();
      }
      isOver = true;
      await Promise.all(floods);
      known.destroy();
      assert.deepEqual(statuses, new Array(10).fill(200));
      // Two were being checked, one more has a turn of its own, and as many may end meanwhile, more where
      // the client in this process comes late to its answers. Each network having a turn before would be 12.
      // Where the machine pauses the client alone, some of ten come later still.
      const late = overtaken.filter((count) => count >= MANY.length);
      assert.ok(late.length <= 2, overtaken.join());
    });
  }
});
