// What threads of one server give, and what further servers over one PostgreSQL: certificates issued and read by as many
// clients in all, with the CPU time that servers and database take for each.
//
//   node bench/nodes.ts [--seconds N] [--clients N] [--ways sqlite:1x1,postgres:2x1,…]
//
// A way is an engine, how many servers there are, and how many threads of each answer.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Place, postgresPlace, sqlitePlaceIn } from '../test/support/engines.ts';
import { settingsOf } from '../test/support/node-process.ts';
import { startPostgres } from '../test/support/postgres.ts';
import {
  type Generator,
  type ServerProcess,
  startGenerator,
  startServerProcess,
} from './processes.ts';
import { initialise, issueRequest, prepareMount, readRequest } from './workloads.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    clients: { type: 'string', default: '32' },
    ways: {
      type: 'string',
      default: 'sqlite:1x1,sqlite:1x2,postgres:1x1,postgres:1x2,postgres:2x1,postgres:2x2',
    },
  },
});
const milliseconds = Number(values.seconds) * 1000;
const clients = Number(values.clients);
const ways = values.ways.split(',').map((way) => {
  const [, engine, servers, threads] = /^(sqlite|postgres):([1-9])x([1-9]\d?)$/.exec(way) ?? [];
  if (!engine || !servers || !threads || (engine === 'sqlite' && servers !== '1')) {
    console.error(`--ways takes sqlite:1xTHREADS and postgres:SERVERSxTHREADS, not ${way}`);
    process.exit(2);
  }
  return { way, engine, servers: Number(servers), threads: Number(threads) };
});
if (!(milliseconds > 0) || !(clients >= 1)) {
  console.error('--seconds takes a number above 0; --clients one from 1');
  process.exit(2);
}

/** CPU time so far of a PostgreSQL server, those of its processes together that have not ended, in microseconds. */
function databaseCpu(folder: string): number {
  const pid = readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0];
  let spent = 0;
  for (const one of readdirSync('/proc')) {
    if (!/^\d+$/.test(one)) continue;
    try {
      const parent = /\) \S (\d+)/.exec(readFileSync(`/proc/${one}/stat`, 'utf8'))?.[1];
      if (parent === pid)
        spent += Number(readFileSync(`/proc/${one}/schedstat`, 'utf8').split(' ')[0]);
    } catch {
      // It has ended since the folder was read.
    }
  }
  return spent / 1000;
}

interface Measured {
  rate: number;
  p99: number;
  /** Microseconds for each answer. */
  server: number;
  database: number;
  collected: string[];
}

/** The same requests to each server, by its part of the clients; the half second before the measurement is not counted. */
async function measure(
  at: { servers: ServerProcess[]; generators: Generator[]; database: () => number },
  requests: string[],
  collect?: string,
): Promise<Measured> {
  const { servers, generators, database } = at;
  const connections = Math.max(1, Math.round(clients / servers.length));
  const load = { connections, requests, repeat: true, from: 0, ...(collect ? { collect } : {}) };
  const run = (time: number) =>
    Promise.all(
      servers.map(({ port }, index) => {
        const generator = generators[index];
        if (!generator) throw new Error('a server has no generator');
        return generator.run({ ...load, port, milliseconds: time });
      }),
    );
  await run(500);
  const spent = () => servers.reduce((sum, server) => sum + server.cpu().all, 0);
  const before = { server: spent(), database: database() };
  const results = await run(milliseconds);
  const after = { server: spent(), database: database() };
  const refused = results.find((result) => result.refused > 0);
  if (refused) throw new Error(`${refused.refused} refused: ${refused.refusal}`);
  const answered = results.reduce((sum, result) => sum + result.answered, 0);
  return {
    rate: results.reduce((sum, one) => sum + (one.answered / one.milliseconds) * 1000, 0),
    p99: Math.max(...results.map(({ p99 }) => p99)) / 1000,
    server: (after.server - before.server) / answered,
    database: (after.database - before.database) / answered,
    collected: results.flatMap(({ collected }) => collected),
  };
}

/** Starts the servers of a way, the first one alone until there is something to serve. */
async function startServers(
  folder: string,
  place: Place,
  { servers, threads }: { servers: number; threads: number },
): Promise<ServerProcess[]> {
  const start = (node_name: string): Promise<ServerProcess> => {
    const file = join(folder, `${node_name}.json`);
    const settings = {
      ...settingsOf(place, folder, node_name),
      listener: { address: '127.0.0.1:0', tls_disable: true },
      proxy_listener: { address: '127.0.0.1:0' },
      threads,
    };
    writeFileSync(file, JSON.stringify(settings));
    return startServerProcess(['src/main.ts', 'server', '-config', file]);
  };
  const first = await start('node-1');
  await initialise(first.port);
  await prepareMount(first.port);
  const others: ServerProcess[] = [];
  for (let at = 2; at <= servers; at++) others.push(await start(`node-${at}`));
  return [first, ...others];
}

const CELLS = [16, 10, 9, 10, 10, 12, 9, 10, 10, 9];
const printLine = (cells: readonly (string | number)[]): void =>
  console.log(cells.map((cell, at) => String(cell).padStart(CELLS[at] ?? 9)).join(' '));

const folder = mkdtempSync(join(process.cwd(), '.bench-'));
// Its server runs as another user, who has to get there.
const database_folder = mkdtempSync('/tmp/gatehouse-bench-');
const database = await startPostgres(database_folder);
try {
  printLine([
    '',
    'issue/s',
    'p99 ms',
    'server µs',
    'db µs',
    'cert read/s',
    'p99 ms',
    'server µs',
    'db µs',
    'RSS MB',
  ]);
  for (const way of ways) {
    const at = join(folder, way.way.replace(':', '-'));
    mkdirSync(at);
    const place = way.engine === 'sqlite' ? sqlitePlaceIn(at) : await postgresPlace(database.url);
    const servers = await startServers(at, place, way);
    const generators = servers.map(() => startGenerator());
    const measured = { servers, generators, database: () => databaseCpu(database_folder) };
    const issue = await measure(measured, [issueRequest()], '"serial_number":"([^"]+)"');
    const read = await measure(measured, issue.collected.slice(0, 5000).map(readRequest));
    const cells = [issue, read].flatMap((one) => [
      one.rate.toFixed(0),
      one.p99.toFixed(1),
      one.server.toFixed(0),
      one.database.toFixed(0),
    ]);
    const memory = servers.reduce((sum, server) => sum + server.memory(), 0) / 2 ** 20;
    printLine([way.way, ...cells, memory.toFixed(0)]);
    for (const generator of generators) generator.stop();
    for (const server of servers) await server.stop();
    await place.remove();
  }
} finally {
  database.stop();
  rmSync(folder, { recursive: true, force: true });
}
