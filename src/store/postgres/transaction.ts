import type { Client } from 'pg';
import type { ChainHead } from '../../core/record-chain.ts';
import { READ_CONFIG_VERSION } from '../config-version.ts';
import type { KeptHolds } from '../kept-holds.ts';
import {
  isServerError,
  Pipeline,
  type PipelineResult,
  type PreparedNames,
  type Step,
} from '../pipeline.ts';
import { Interrupted, interruption, isPassing, type Next } from './refusal.ts';

/** The channel on which nodes tell each other that configuration has changed. */
export const CONFIG_CHANNEL = 'gatehouse_config';

/** Longer than any batch takes; then the connection is given up and its outcome is unknown. */
const PIPELINE_TIMEOUT_MS = 20_000;

/** Groups of one pipeline that may wait for others' locks in vain: those behind them mostly wait for the same. */
const MOST_PASSING = 4;

/** The connection that writes. */
export interface Session {
  client: Client;
  names: PreparedNames;
  /** The last record of this node's audit chain that is durable. */
  head: ChainHead;
  holds: KeptHolds;
}

export const BEGIN: Step = { sql: 'begin', parameters: [] };
export const ROLLBACK: Step = { sql: 'rollback', parameters: [] };
const COMMIT: Step = { sql: 'commit', parameters: [] };

/** Tells the other nodes at commit, and ourselves the version; the last before it. */
export const ANNOUNCE: readonly Step[] = [
  { sql: `select pg_notify('${CONFIG_CHANNEL}', '')`, parameters: [] },
  { sql: READ_CONFIG_VERSION, parameters: [] },
];

export function versionIn(result: PipelineResult): { config_version: number } {
  return { config_version: Number(result.done.at(-1)?.value) };
}

/** @throws Interrupted when the connection is lost or does not answer */
export async function run(session: Session, steps: readonly Step[]): Promise<PipelineResult> {
  const [result = { done: [] }] = await runGroups(session, [steps]);
  return result;
}

/**
 * Groups of steps, of which each is run whether or not those before it went well.
 *
 * @throws Interrupted when the connection is lost or does not answer, or too many groups wait for others
 */
export async function runGroups(
  session: Session,
  groups: readonly (readonly Step[])[],
): Promise<PipelineResult[]> {
  let passing = 0;
  const pipeline = new Pipeline(session.client, groups, {
    names: session.names,
    mayGoOn: (error) => !isPassing(error) || ++passing < MOST_PASSING,
  });
  let next: Next = 'reconnect';
  const timer = setTimeout(() => {
    next = 'apart';
    session.client.end().catch(() => {});
  }, PIPELINE_TIMEOUT_MS);
  try {
    session.client.query(pipeline);
    return await pipeline.results;
  } catch (error) {
    if (isServerError(error) && isPassing(error)) throw interruption(error);
    throw new Interrupted(next, error instanceof Error ? error : new Error(String(error)));
  } finally {
    clearTimeout(timer);
  }
}

/** Leaves the transaction so that the session can be used again. */
export async function rolledBack(session: Session): Promise<boolean> {
  return run(session, [ROLLBACK]).then(
    ({ error }) => error === undefined,
    () => false,
  );
}

/**
 * The end of a transaction, with what is to be done before it in the same round trip.
 *
 * @throws Interrupted that gives up when the connection is lost: once the commit is sent, nobody
 *   knows whether it was done. One that was refused was not done, and may be tried again.
 */
export async function commit(
  session: Session,
  before: readonly Step[] = [],
): Promise<PipelineResult> {
  const { done, error } = await run(session, [...before, COMMIT]).catch((lost: Interrupted) => {
    throw new Interrupted('give_up', lost);
  });
  if (error !== undefined) throw interruption(error);
  // A transaction that has failed answers `ROLLBACK` to a commit, which is no error.
  if (done.at(-1)?.tag !== 'COMMIT') {
    throw new Interrupted('give_up', new Error('the transaction was rolled back'));
  }
  return { done: done.slice(0, -1) };
}
