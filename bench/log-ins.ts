// How right log-ins fare while wrong ones come without end, on both APIs: from one address, from many of
// one network, and from as many networks.
//
//   node bench/log-ins.ts [--connections 80] [--addresses 150] [--connections-each 3] [--seconds 5]
//
// Addresses are of the loopback network: 127.1.x.y flood; those that are right are 127.0.0.3, which has logged
// in before, and for each log-in another one that never has.

import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startGatehouse } from './processes.ts';

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '80' },
    addresses: { type: 'string', default: '150' },
    'connections-each': { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
  },
});
const connections = Number(values.connections);
const addresses = Number(values.addresses);
const connections_each = Number(values['connections-each']);
const milliseconds = Number(values.seconds) * 1000;

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const server = await startGatehouse(directory, []);

interface Asked {
  path: string;
  body: unknown;
  token?: string;
}

/** @returns the status; 0 when the connection broke */
function ask(agent: Agent, { path, body, token }: Asked): Promise<number> {
  return new Promise((resolve) => {
    const asked = request(
      {
        agent,
        host: '127.0.0.1',
        port: server.port,
        path: `/v1/${path}`,
        method: 'POST',
        headers: token === undefined ? {} : { 'x-vault-token': token },
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      },
    );
    asked.on('error', () => resolve(0));
    asked.end(JSON.stringify(body));
  });
}

const agentOf = (localAddress: string): Agent => new Agent({ keepAlive: true, localAddress });

const LOG_INS: { name: string; right: Asked; wrong: (n: number) => Asked }[] = [
  {
    name: 'userpass',
    right: { path: 'auth/userpass/login/ann', body: { password: 'correct horse' } },
    wrong: (n) => ({ path: `auth/userpass/login/n${n}`, body: { password: 'wrong' } }),
  },
  {
    name: 'broker',
    right: brokerLogIn('admin', 'password'),
    wrong: (n) => brokerLogIn(`nobody${n}`, 'wrong password'),
  },
];

function brokerLogIn(login_name: string, password: string): Asked {
  return {
    path: 'auth-methods/ampw_1234567890:authenticate',
    body: { attributes: { login_name, password } },
  };
}

/** Where a flood comes from: an address for each of its connections. */
const FLOODS: { name: string; from: string[] }[] = [
  { name: 'one address', from: new Array<string>(connections).fill('127.0.0.2') },
  {
    name: `${addresses} addresses`,
    from: spread((at) => `127.1.${Math.floor(at / 250)}.${1 + (at % 250)}`),
  },
  {
    name: `${addresses} networks`,
    from: spread((at) => `127.${2 + Math.floor(at / 250)}.${at % 250}.1`),
  },
];

function spread(addressAt: (at: number) => string): string[] {
  return Array.from({ length: addresses * connections_each }, (_, n) => addressAt(n % addresses));
}

let asked = 0;

async function measure(log_in: (typeof LOG_INS)[number], from: string[]): Promise<string[]> {
  const end = performance.now() + milliseconds;
  const known = agentOf('127.0.0.3');
  await ask(known, log_in.right);
  let wrong = 0;
  let refused = 0;
  const floods = from.map(async (address) => {
    const agent = agentOf(address);
    while (performance.now() < end) {
      asked += 1;
      const status = await ask(agent, log_in.wrong(asked));
      wrong += 1;
      if (status === 429) refused += 1;
    }
    agent.destroy();
  });
  let newcomers = 0;
  const [of_known, of_new] = await Promise.all([
    logInUntil(end, async () => ask(known, log_in.right)),
    logInUntil(end, async () => {
      newcomers += 1;
      const agent = agentOf(`127.200.${newcomers >> 8}.${newcomers & 255}`);
      const status = await ask(agent, log_in.right);
      agent.destroy();
      return status;
    }),
  ]);
  await Promise.all(floods);
  known.destroy();
  return [
    `wrong ${wrong}, of them 429 ${refused}`,
    `right, known address ${of_known}`,
    `right, new address   ${of_new}`,
  ];
}

/** Logs in again and again. */
async function logInUntil(end: number, logIn: () => Promise<number>): Promise<string> {
  const latencies: number[] = [];
  let answered = 0;
  while (performance.now() < end) {
    const start = performance.now();
    const status = await logIn();
    latencies.push(performance.now() - start);
    if (status === 200) answered += 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  latencies.sort((a, b) => a - b);
  const at = (share: number): string =>
    (latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(0);
  return `${answered}/${latencies.length}  p50 ${at(0.5)} ms  longest ${(latencies.at(-1) ?? 0).toFixed(0)} ms`;
}

try {
  const root = new Agent();
  const admin = (path: string, body: unknown) => ask(root, { path, body, token: 'root' });
  await admin('sys/auth/userpass', { type: 'userpass' });
  await admin('auth/userpass/users/ann', { password: 'correct horse' });
  for (const log_in of LOG_INS) {
    for (const { name, from } of FLOODS) {
      console.log(`${log_in.name}, wrong ones from ${name}`);
      for (const line of await measure(log_in, from)) console.log(`  ${line}`);
    }
  }
} finally {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}
