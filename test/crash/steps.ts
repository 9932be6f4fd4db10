// A process to be killed at a step: it takes a backup or restores one, and kills itself right before
// its step with the number it was told. Its argument is a `Task`. A step is a call that changes files,
// or a statement. Prints how many steps there were when it comes to its end.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { backUp } from '../../src/store/backup.ts';
import { restore } from '../../src/store/restore.ts';
import type { StoreOptions } from '../../src/store/store.ts';

export interface Task {
  work: 'backup' | 'restore';
  place: StoreOptions;
  file: string;
  /** The step before which it is killed; one there is not: it comes to its end. */
  kill_before: number;
}

let steps = 0;

function step(killBefore: number): void {
  steps += 1;
  if (steps === killBefore) process.kill(process.pid, 'SIGKILL');
}

/** Has every call of a method count as a step. */
function countCalls(owner: object, names: readonly PropertyKey[], killBefore: number): void {
  for (const name of names) {
    const real: unknown = Reflect.get(owner, name);
    if (typeof real !== 'function') throw new Error(`there is no ${String(name)}`);
    const counting = function (this: unknown, ...args: unknown[]): unknown {
      step(killBefore);
      return Reflect.apply(real, this, args);
    };
    Reflect.set(owner, name, counting);
  }
}

const { work, place, file, kill_before }: Task = JSON.parse(process.argv[2] ?? '');
const CHANGING = [
  'openSync',
  'closeSync',
  'linkSync',
  'renameSync',
  'rmSync',
  'mkdtempSync',
  'writeSync',
  'appendFileSync',
  'fsyncSync',
];
countCalls(fs, CHANGING, kill_before);
syncBuiltinESMExports();
countCalls(DatabaseSync.prototype, ['exec', 'prepare', 'close', Symbol.dispose], kill_before);
countCalls(Client.prototype, ['query'], kill_before);

if (work === 'backup') await backUp(place, file, { now: 0, program: '0.0.0' });
else {
  const finish = async (): Promise<void> => {};
  await restore(place, file, { replace: true, finish });
}
const told = steps;
process.stdout.write(`${told}\n`, () => process.exit(0));
