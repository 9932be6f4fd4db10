// Two states of the program side by side: a server of each, loaded in turns of half a second, so that whatever else the
// machine does meets both. What is printed is CPU time for each answer, which other work disturbs least: the middle and
// the least of the turns, of all threads, and by thread the middle.
//
//   node bench/versus.ts OTHER [--only issue,sign,read,role,ocsp,target] [--threads N] [--turns N] [--clients N]
//
// OTHER is a checkout with `node_modules`; it is what figures are compared with.

import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { LoadResult } from './load.ts';
import { type Generator, type ServerProcess, startGatehouse, startGenerator } from './processes.ts';
import {
  issueRequest,
  ocspGetRequest,
  prepareMount,
  readRequest,
  readRoleRequest,
  signRequest,
  targetRequests,
} from './workloads.ts';

const TURN_MS = 500;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: 'issue,sign,read,role,ocsp,target' },
    threads: { type: 'string', default: '1' },
    turns: { type: 'string', default: '8' },
    clients: { type: 'string', default: '32' },
  },
});
const [other] = positionals;
if (other === undefined) {
  console.error('give the folder of the other state');
  process.exit(2);
}
const turns = Number(values.turns);
const connections = Number(values.clients);
const generator = startGenerator();

/** A server, and what each workload asks of it. */
interface Side {
  name: string;
  server: ServerProcess;
  workloads: Map<string, string[]>;
  remove(): Promise<void>;
}

interface Turn {
  rate: number;
  p50: number;
  all: number;
  threads: Map<string, number>;
}

async function startSide(name: string, folder: string): Promise<Side> {
  const data = mkdtempSync(join(process.cwd(), '.bench-'));
  const at = process.cwd();
  process.chdir(folder);
  const server = await startGatehouse(data, [], values.threads).finally(() => process.chdir(at));
  const root = await prepareMount(server.port);
  const load = { port: server.port, connections, repeat: true, from: 0 };
  const issued = await generator.run({
    ...load,
    milliseconds: 1500,
    requests: [issueRequest()],
    collect: '"serial_number":"([^"]+)"',
  });
  const serials = issued.collected.slice(0, 1000);
  const { reads } = await targetRequests(server.port);
  return {
    name,
    server,
    workloads: new Map([
      ['issue', [issueRequest()]],
      ['sign', [signRequest()]],
      ['read', serials.map(readRequest)],
      ['role', [readRoleRequest()]],
      ['ocsp', serials.map((serial) => ocspGetRequest(root, serial))],
      ['target', reads],
    ]),
    async remove() {
      await server.stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** @param by of {@link Generator} */
async function takeTurn(by: Generator, side: Side, requests: string[]): Promise<Turn> {
  const { server } = side;
  const before = server.cpu();
  const result: LoadResult = await by.run({
    port: server.port,
    connections,
    milliseconds: TURN_MS,
    requests,
    repeat: true,
    from: 0,
  });
  const after = server.cpu();
  if (result.refused > 0) throw new Error(`${side.name}: ${result.refusal}`);
  const each = (spent: number): number => spent / result.answered;
  const threads = [...after.threads].map(
    ([name, spent]) => [name, each(spent - (before.threads.get(name) ?? 0))] as const,
  );
  return {
    rate: (result.answered / result.milliseconds) * 1000,
    p50: result.p50,
    all: each(after.all - before.all),
    threads: new Map(threads),
  };
}

const middle = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;

function describe(workload: string, side: Side, taken: readonly Turn[]): string {
  const all = taken.map((turn) => turn.all);
  const names = [...(taken.at(-1)?.threads.keys() ?? [])];
  const threads = names
    .map((name) => [name, middle(taken.map((turn) => turn.threads.get(name) ?? 0))] as const)
    .filter(([, spent]) => spent >= 0.5)
    .sort(([, one], [, more]) => more - one)
    .map(([name, spent]) => `${name} ${spent.toFixed(1)}`);
  const figures = [
    `middle ${middle(all).toFixed(1).padStart(7)} µs`,
    `least ${Math.min(...all)
      .toFixed(1)
      .padStart(7)} µs`,
    `${middle(taken.map((turn) => turn.rate)).toFixed(0)}/s`,
    `p50 ${middle(taken.map((turn) => turn.p50))} µs`,
  ];
  return `${workload.padEnd(7)} ${side.name.padEnd(6)} ${figures.join('  ')}   ${threads.join(', ')}`;
}

const sides = [await startSide('other', resolve(other)), await startSide('this', process.cwd())];
try {
  for (const workload of values.only.split(',')) {
    const taken = new Map<Side, Turn[]>(sides.map((side) => [side, []]));
    for (let turn = -1; turn < turns; turn += 1) {
      for (const side of sides) {
        const requests = side.workloads.get(workload);
        if (!requests) throw new Error(`there is no workload ${workload}`);
        const figures = await takeTurn(generator, side, requests);
        // The first is for warming up.
        if (turn >= 0) taken.get(side)?.push(figures);
      }
    }
    for (const [side, figures] of taken) console.log(describe(workload, side, figures));
  }
} finally {
  for (const side of sides) await side.remove();
  generator.stop();
}
