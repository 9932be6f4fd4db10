/** Feeds a target damaged inputs and judges how it takes them. */

import { Failure } from '../../src/core/failure.ts';
import { isWithin, measurePace } from '../support/machine.ts';
import { Dice, mutate } from './mutate.ts';

/** A reader of untrusted bytes. */
export interface FuzzTarget {
  name: string;
  /** Well-formed inputs to start from. */
  corpus: readonly Uint8Array[];
  /** Pieces worth inserting whole, for readers of text. */
  words?: readonly string[];
  /** Returns, or throws a Failure; anything else is a finding. */
  read(bytes: Uint8Array): unknown;
}

export interface FuzzBudget {
  iterations: number;
  /** Stop earlier when this many milliseconds have passed. */
  milliseconds: number;
  seed: number;
}

export interface FuzzResult {
  name: string;
  iterations: number;
  /** Inputs that were read without a refusal. */
  accepted: number;
  /** Different refusals met; numbers and what they quote aside. */
  refusals: number;
  /** Milliseconds of CPU time of the slowest input. */
  slowest: number;
  finding?: { input: Uint8Array; because: string };
}

/** Longest that one input may take, in milliseconds of CPU time. */
export const SLOW = 50;
const REMEMBERED = 500;

/** Runs one target until its budget is spent or there is a finding. */
export async function fuzz(target: FuzzTarget, budget: FuzzBudget): Promise<FuzzResult> {
  const dice = new Dice(budget.seed);
  const words = (target.words ?? []).map((word) => new TextEncoder().encode(word));
  // Inputs that were read, or refused in a new way, are damaged further.
  const corpus = target.corpus.map(copyOf);
  const refusals = new Set<string>();
  const result: FuzzResult = {
    name: target.name,
    iterations: 0,
    accepted: 0,
    refusals: 0,
    slowest: 0,
  };
  const remember = (input: Uint8Array): void => {
    if (corpus.length < REMEMBERED) corpus.push(input);
    else corpus[target.corpus.length + dice.roll(REMEMBERED - target.corpus.length)] = input;
  };

  for (const input of corpus) {
    const { thrown } = await attempt(target, input);
    if (thrown !== undefined)
      return { ...result, finding: { input, because: `not even undamaged: ${describe(thrown)}` } };
  }
  const end = performance.now() + budget.milliseconds;
  while (result.iterations < budget.iterations && performance.now() < end) {
    result.iterations++;
    const input = mutate(dice.pick(corpus), dice.pick(corpus), words, dice);
    const { thrown, took } = await attempt(target, input);
    result.slowest = Math.max(result.slowest, took);
    if (thrown === undefined) {
      result.accepted++;
      // Most inputs that are read lead nowhere new; all of them would crowd out the refusals.
      if (dice.roll(8) === 0) remember(input);
    } else if (thrown instanceof Failure) {
      const refusal = thrown.message.replaceAll(/"[^"]*"|\d+/g, '…').slice(0, 80);
      if (!refusals.has(refusal) && refusals.size < 10_000) {
        refusals.add(refusal);
        remember(input);
      }
    } else {
      return { ...result, finding: { input, because: describe(thrown) } };
    }
    // A pause of the machine is not the reader's: only an input that is slow every time counts.
    if (took > SLOW && (await slowEveryTime(target, input))) {
      return { ...result, finding: { input, because: `took ${Math.round(took)} ms` } };
    }
  }
  result.refusals = refusals.size;
  return result;
}

/** What `slice` is not for a Buffer: that would be the same bytes, and damage to them would last. */
const copyOf = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);

async function attempt(
  target: FuzzTarget,
  input: Uint8Array,
): Promise<{ thrown: unknown; took: number }> {
  // A copy at a place of its own: a reader that looks beyond its input finds nothing there.
  const bytes = copyOf(input);
  const start = process.threadCpuUsage();
  let thrown: unknown;
  try {
    await target.read(bytes);
  } catch (error) {
    thrown = error ?? new Error('threw nothing');
  }
  const { user, system } = process.threadCpuUsage(start);
  return { thrown, took: (user + system) / 1000 };
}

async function slowEveryTime(target: FuzzTarget, input: Uint8Array): Promise<boolean> {
  const pace = measurePace();
  for (let left = 4; left > 0; left--) {
    if (isWithin((await attempt(target, input)).took, SLOW, pace)) return false;
  }
  return true;
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}
