import type { TestContext } from 'node:test';
import { FewInTurn } from '../../src/core/fairness/few-in-turn.ts';

/** How often somebody asked for one of few places from now on. */
export function countPlaces(t: TestContext): () => number {
  const { mock } = t.mock.method(FewInTurn.prototype, 'run');
  return () => mock.callCount();
}
