// The files of the program that a request goes through on the answering thread, in the order in which each is
// first entered: how far a reader has to go. Counted by what is called, after the same request was made twice.
//
//   node bench/ways.ts [--list]
//
// `--list` names them; files of `core/` alone, which know nothing of requests, are counted apart.

import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startBroker } from '../test/support/seeded-broker.ts';
import type { Reply } from '../test/support/server.ts';

const { values } = parseArgs({ options: { list: { type: 'boolean', default: false } } });

const closers: (() => Promise<void>)[] = [];
const broker = await startBroker({ after: (close) => closers.push(close) });
const { client, admin, make, project } = broker;

await client.call('POST', 'sys/mounts/pki', { type: 'pki' });
await client.call('POST', 'pki/root/generate/internal', { common_name: 'Root', key_type: 'ec' });
await client.call('POST', 'pki/roles/web', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
const target = await make('targets', {
  scope_id: project,
  type: 'tcp',
  name: 'db',
  address: '127.0.0.1',
  attributes: { default_port: 5432 },
});
const lists = `targets?scope_id=${project}`;
const first = await admin('GET', lists);

/** What is refused goes another way. */
async function done(asked: Promise<Reply>): Promise<Reply> {
  const reply = await asked;
  if (reply.status >= 300) throw new Error(`${reply.status} ${reply.text}`);
  return reply;
}

const issue = () => done(client.call('POST', 'pki/issue/web', { common_name: 'a.example.com' }));
const ways: [name: string, ask: () => Promise<unknown>][] = [
  ['issue', issue],
  ['authorize-session', () => done(admin('POST', `targets/${target}:authorize-session`, {}))],
  [
    'revoke, and the CRL',
    async () => {
      const serial_number = (await issue()).textAt('data.serial_number');
      await start();
      await done(client.call('POST', 'pki/revoke', { serial_number }));
      await done(client.call('GET', 'pki/cert/crl'));
    },
  ],
  [
    'list with a token',
    () =>
      done(admin('GET', `${lists}&list_token=${encodeURIComponent(first.textAt('list_token'))}`)),
  ],
];

const session = new Session();
session.connect();
await session.post('Profiler.enable');
const root = fileURLToPath(new URL('..', import.meta.url));

async function start(): Promise<void> {
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  await session.post('Profiler.takePreciseCoverage');
}

async function filesCalled(): Promise<string[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  return result
    .filter(({ url }) => url.startsWith('file:'))
    .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .map(({ url }) => relative(root, fileURLToPath(url)))
    .filter((file) => file.startsWith('src/'))
    .sort();
}

for (const [name, ask] of ways) {
  await ask();
  await ask();
  await start();
  await ask();
  const files = await filesCalled();
  const [own, core] = [
    files.filter((file) => !file.startsWith('src/core/')),
    files.filter((file) => file.startsWith('src/core/')),
  ];
  const rooms = Object.entries(Object.groupBy(own, (file) => file.split('/')[1] ?? ''))
    .map(([room, of = []]) => `${room} ${of.length}`)
    .join(', ');
  console.log(`${name}: ${own.length} files, ${core.length} of core (${rooms})`);
  if (values.list) for (const file of files) console.log(`  ${file}`);
}
session.disconnect();
for (const close of closers) await close();
