// How long the next certificate of a mount with many roots takes after a change: of something else, of another
// mount, of the mount itself. Its issuers are read anew for the last alone, and no signature between two of
// them is verified twice.
//
//   node bench/authorities.ts [roots]

import { startHere } from './here.ts';

const ROOTS = Number(process.argv[2] ?? 200);
const ROUNDS = 30;

const server = await startHere();

const call = server.post;

async function makeMount(path: string, roots: number): Promise<void> {
  await call(`sys/mounts/${path}`, { type: 'pki' });
  for (let at = 0; at < roots; at++) {
    await call(`${path}/root/generate/internal`, { common_name: `Root ${at}`, key_type: 'ec' });
  }
}

const CHANGES: [what: string, change: (round: number) => Promise<unknown>][] = [
  ['nothing', async () => {}],
  ['a policy', (round) => call('sys/policies/acl/p', { policy: `# ${round}` })],
  ['an entity', (round) => call('identity/entity', { name: `e${round}` })],
  ['another mount', (round) => call('other/config/urls', { ocsp_servers: [`http://${round}`] })],
  ['the mount itself', (round) => call('many/config/urls', { ocsp_servers: [`http://${round}`] })],
];

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

try {
  await makeMount('other', 1);
  await makeMount('many', ROOTS);
  await call('many/roles/web', { allow_any_name: true, key_type: 'ec', max_ttl: '1h' });
  const issue = () => call('many/issue/web', { common_name: 'a.test' });
  for (let at = 0; at < 100; at++) await issue();
  console.log(
    `${ROOTS} roots: the next certificate, in ms (least and median of ${ROUNDS}), and CPU time in all (median)`,
  );
  for (const [what, change] of CHANGES) {
    const times: number[] = [];
    const cpu: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await change(round);
      const began = performance.now();
      const before = process.cpuUsage();
      await issue();
      times.push(performance.now() - began);
      const { user, system } = process.cpuUsage(before);
      cpu.push((user + system) / 1000);
    }
    const [least, median, spent] = [Math.min(...times), medianOf(times), medianOf(cpu)];
    const figures = [least, median, spent].map((ms) => ms.toFixed(1)).join(', ');
    console.log(`after a change of ${what}: ${figures}`);
  }
} finally {
  await server.stop();
}
