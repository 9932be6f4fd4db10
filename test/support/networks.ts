/** Networks of namespaces (Linux) that can be cut without a word: nothing is refused, nothing arrives. */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Scope } from './node-process.ts';

/** Names of namespaces begin with this, the process that made them, and a number. */
const PREFIX = 'gatehouse-test';

/** Ways out of the worker's network to this machine; each has an address of its own here. */
const WAYS = { server: 1, client: 2, endpoint: 3 } as const;
export type Way = keyof typeof WAYS;

/** A network with one machine in it, behind a router that loses what it is told to. */
export interface CutNetwork {
  /** Addresses of this machine, by who is spoken to there. Clients come from theirs. */
  addresses: Readonly<Record<Way, string>>;
  /** Of the machine inside. */
  inside: string;
  /** What a command begins with that is to run inside. */
  command: readonly string[];
  /** From now on nothing passes between that address and the inside, in either direction. */
  cut(way: Way): void;
  mend(way: Way): void;
  /** Sets what the system inside does: a file beneath /proc/sys. */
  set(key: string, value: string): void;
}

const ip = (...args: string[]): string =>
  execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** Needs no program that a small system does not have. */
function set(namespace: string, key: string, value: string): void {
  ip('netns', 'exec', namespace, 'sh', '-c', `echo ${value} > /proc/sys/${key}`);
}

/** Why there are no such networks here; `false` where there are. */
export function findNetworks(): string | false {
  if (process.platform !== 'linux') return 'network namespaces are Linux’s';
  if (process.getuid?.() !== 0) return 'only root may make network namespaces';
  if (spawnSync('ip', ['-V'], { stdio: 'ignore' }).error) return 'iproute2 is not installed';
  removeAbandoned();
  const tried = `${PREFIX}-${process.pid}-0`;
  const made = spawnSync('ip', ['netns', 'add', tried], { encoding: 'utf8' });
  if (made.status !== 0) return `network namespaces cannot be made: ${made.stderr.trim()}`;
  ip('netns', 'del', tried);
  return false;
}

/** Removes what was left by tests that were killed. */
function removeAbandoned(): void {
  const found = ip('netns', 'list').matchAll(new RegExp(`^${PREFIX}-(\\d+)-\\S+`, 'gm'));
  for (const [name, pid = ''] of found) {
    if (!existsSync(`/proc/${pid}`)) spawnSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
  }
}

let made = 0;

/** Makes one; it is gone with the test, or with this process. */
export function makeNetwork(test: Scope): CutNetwork {
  made += 1;
  const router = `${PREFIX}-${process.pid}-${made}r`;
  const machine = `${PREFIX}-${process.pid}-${made}m`;
  const leg = `gh${process.pid}-${made}`;
  const remove = (): void => {
    const all = [
      ['link', 'del', leg],
      ['netns', 'del', router],
      ['netns', 'del', machine],
    ];
    for (const args of all) spawnSync('ip', args, { stdio: 'ignore' });
    process.off('exit', remove);
  };
  process.on('exit', remove);
  test.after(remove);

  const at = freePrefix();
  const addresses = { server: `${at}.1`, client: `${at}.2`, endpoint: `${at}.3` };
  const inside = `${at}.10`;
  ip('netns', 'add', router);
  ip('netns', 'add', machine);
  ip('link', 'add', leg, 'type', 'veth', 'peer', 'name', 'outer', 'netns', router);
  ip(
    '-n',
    machine,
    'link',
    'add',
    'eth0',
    'type',
    'veth',
    'peer',
    'name',
    'inner',
    'netns',
    router,
  );
  for (const address of Object.values(addresses)) ip('addr', 'add', `${address}/29`, 'dev', leg);
  ip('link', 'set', leg, 'up');
  ip('-n', router, 'addr', 'add', `${at}.6/29`, 'dev', 'outer');
  ip('-n', router, 'addr', 'add', `${at}.9/29`, 'dev', 'inner');
  ip('-n', machine, 'addr', 'add', `${inside}/29`, 'dev', 'eth0');
  for (const device of ['outer', 'inner']) ip('-n', router, 'link', 'set', device, 'up');
  for (const device of ['lo', 'eth0']) ip('-n', machine, 'link', 'set', device, 'up');
  set(router, 'net/ipv4/ip_forward', '1');
  ip('-n', machine, 'route', 'add', 'default', 'via', `${at}.9`);
  ip('route', 'add', `${at}.8/29`, 'via', `${at}.6`, 'src', addresses.client);

  const rule = (action: 'add' | 'del', way: Way): void => {
    const outside = addresses[way];
    for (const [from, to] of [
      [outside, inside],
      [inside, outside],
    ] as const) {
      ip('-n', router, 'rule', action, 'from', from, 'to', to, 'blackhole');
    }
  };
  return {
    addresses,
    inside,
    command: ['ip', 'netns', 'exec', machine],
    cut: (way) => rule('add', way),
    mend: (way) => rule('del', way),
    set: (key, value) => set(machine, key, value),
  };
}

/** The first three parts of addresses that nobody here has, of those meant for such networks (RFC 2544). */
function freePrefix(): string {
  const taken = ip('-4', '-o', 'route', 'show', 'table', 'all');
  for (let tried = 0; tried < 512; tried += 1) {
    const at = (process.pid + made + tried) % 512;
    const prefix = `198.${18 + (at >> 8)}.${at & 255}`;
    if (!taken.includes(`${prefix}.`)) return prefix;
  }
  throw new Error('every network for tests is taken');
}
