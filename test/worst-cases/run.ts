import {
  allCases,
  type Case,
  chooseCases,
  describeCase,
  type Field,
  listFields,
  requestOf,
} from './cases.ts';
import { measure, startWatched, type Watched } from './measure.ts';
import { type Asker, makeWorld, type World } from './world.ts';

/** How much is tried. */
export interface Budget {
  milliseconds: number;
  /** Cases of each field; all of them unless given. */
  each?: number | undefined;
  /** Only fields of endpoints with this text in their path or id. */
  only?: string | undefined;
  by?: string | undefined;
  onFinding?(finding: string): void;
}

export interface Outcome {
  endpoints: number;
  fields: number;
  tried: number;
  findings: string[];
  statuses: Map<number, number>;
  /** Milliseconds. */
  longest: number;
  longestOf: string;
}

/** Sends cases until they or the time are used up. */
export async function tryCases(budget: Budget): Promise<Outcome> {
  const server = await startWatched();
  try {
    const world = await makeWorld(server);
    return await tryAll(server, world, budget);
  } finally {
    await server.stop();
  }
}

async function tryAll(server: Watched, world: World, budget: Budget): Promise<Outcome> {
  const fields = listFields(budget.each === undefined ? 'all' : 'some').filter(
    ({ endpoint: { id, path } }) => !budget.only || `${id} ${path}`.includes(budget.only),
  );
  const outcome: Outcome = {
    endpoints: new Set(fields.map(({ endpoint }) => endpoint)).size,
    fields: fields.length,
    tried: 0,
    findings: [],
    statuses: new Map(),
    longest: 0,
    longestOf: '',
  };
  const end = performance.now() + budget.milliseconds;
  for (const [turn, field] of fields.entries()) {
    for (const [at, each] of casesOf(field, turn, budget).entries()) {
      for (const asker of askersOf(world, turn + at, budget)) {
        if (performance.now() > end) return outcome;
        await tryOne(server, world, each, asker, outcome, budget);
      }
    }
  }
  return outcome;
}

function casesOf(field: Field, turn: number, { each }: Budget): Case[] {
  return each === undefined ? allCases(field) : chooseCases(field, turn, each);
}

/** Everybody asks in a full trial; in a short one mostly who may do everything. */
function askersOf({ askers }: World, turn: number, { each, by }: Budget): readonly Asker[] {
  if (by !== undefined) return askers.filter(({ name }) => name === by);
  if (each === undefined) return askers;
  const [nobody, everything, little] = askers;
  const chosen = turn % 5 === 0 ? nobody : turn % 5 === 1 ? little : everything;
  return chosen ? [chosen] : [];
}

async function tryOne(
  server: Watched,
  world: World,
  tried: Case,
  asker: Asker,
  outcome: Outcome,
  { onFinding }: Budget,
): Promise<void> {
  const note = (because: string): void => {
    const finding = `${describeCase(tried, asker)}: ${because}`;
    outcome.findings.push(finding);
    onFinding?.(finding);
  };
  outcome.tried++;
  const answered = await measure(server, requestOf(tried, world, asker)).catch((error: unknown) => {
    if (server.lost())
      throw new Error(`${describeCase(tried, asker)}: the server is lost`, { cause: error });
    throw error;
  });
  const { status, pause, isTooLong, text } = answered;
  outcome.statuses.set(status, (outcome.statuses.get(status) ?? 0) + 1);
  if (pause > outcome.longest) {
    outcome.longest = pause;
    outcome.longestOf = describeCase(tried, asker);
  }
  if (isTooLong) note(`held the event loop for ${pause.toFixed(0)} ms (${status})`);
  if (text.includes('internal error')) note(`answered with ${status}: ${text.slice(0, 200)}`);
}
