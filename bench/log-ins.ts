// How right log-ins fare while wrong ones come without end from another address, on both APIs.
//
//   node bench/log-ins.ts [--connections 80] [--seconds 5]
//
// Addresses are of the loopback network: 127.0.0.2 floods, 127.0.0.3 is right.

import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startGatehouse } from './processes.ts';

const { values } = parseArgs({
  options: {
    connections: { type: 'string', default: '80' },
    seconds: { type: 'string', default: '5' },
  },
});
const connections = Number(values.connections);
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

async function measure(log_in: (typeof LOG_INS)[number]): Promise<string> {
  const end = performance.now() + milliseconds;
  let wrong = 0;
  let refused = 0;
  const floods = Array.from({ length: connections }, async (_, at) => {
    const agent = agentOf('127.0.0.2');
    for (let n = 0; performance.now() < end; n++) {
      const status = await ask(agent, log_in.wrong(at * 100_000 + n));
      wrong += 1;
      if (status === 429) refused += 1;
    }
    agent.destroy();
  });
  const agent = agentOf('127.0.0.3');
  const latencies: number[] = [];
  let right = 0;
  let answered = 0;
  while (performance.now() < end) {
    const start = performance.now();
    const status = await ask(agent, log_in.right);
    latencies.push(performance.now() - start);
    right += 1;
    if (status === 200) answered += 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await Promise.all(floods);
  agent.destroy();
  latencies.sort((a, b) => a - b);
  const at = (share: number): string =>
    (latencies[Math.floor(latencies.length * share)] ?? 0).toFixed(0);
  return `${log_in.name.padEnd(9)} right ${answered}/${right}  p50 ${at(0.5)} ms  p99 ${at(0.99)} ms   wrong ${wrong}, of them 429 ${refused}`;
}

try {
  const root = new Agent();
  const admin = (path: string, body: unknown) => ask(root, { path, body, token: 'root' });
  await admin('sys/auth/userpass', { type: 'userpass' });
  await admin('auth/userpass/users/ann', { password: 'correct horse' });
  for (const log_in of LOG_INS) console.log(await measure(log_in));
} finally {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}
