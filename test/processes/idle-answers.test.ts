import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, test } from 'node:test';
import { startWatched } from '../worst-cases/measure.ts';

const server = await startWatched();
after(() => server.stop());

const CONNECTIONS = 60;
const LENGTH = 1_000_000;
const headers = { 'x-vault-token': 'root' };

function read(agent: Agent, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { agent, host: '127.0.0.1', port: server.port, path, headers },
      (answer) => {
        let length = 0;
        answer.on('data', (chunk: Buffer) => {
          length += chunk.length;
        });
        answer.on('end', () => resolve(length));
      },
    );
    asked.on('error', reject);
    asked.end();
  });
}

test('an idle connection keeps nothing of the answer that went over it last', async () => {
  const body = Buffer.from(JSON.stringify({ text: 'x'.repeat(LENGTH) }));
  await server.send({ method: 'POST', target: '/v1/cubbyhole/long', headers, body });
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const before = await server.takeHeap();
  const asked = Array.from({ length: CONNECTIONS }, () => read(agent, '/v1/cubbyhole/long'));
  for (const length of await Promise.all(asked)) assert.ok(length > LENGTH);
  const more = (await server.takeHeap()) - before;
  agent.destroy();
  assert.ok(more < 20 << 20, `${more >> 20} MiB more`);
});
