import { type App, perApp } from '../../app/app.ts';
import { invalid } from '../../core/failure.ts';
import { wipeCollection } from '../share-collection.ts';
import { isRekeyLeft, type RekeyAttempt, type RekeyTarget } from './attempt.ts';

type Attempts = Record<RekeyTarget, RekeyAttempt | undefined>;

/** Under way at this node; sealing it ends them. */
export const attemptsOf = perApp<Attempts>((app) => {
  const attempts: Attempts = { secret: undefined, recovery: undefined };
  app.barrier.onSeal(() => {
    drop(attempts, 'secret');
    drop(attempts, 'recovery');
  });
  return attempts;
});

export function drop(attempts: Attempts, target: RekeyTarget): void {
  const attempt = attempts[target];
  wipeCollection(attempt?.collection);
  wipeCollection(attempt?.pending?.collection);
  attempt?.pending?.key.fill(0);
  attempts[target] = undefined;
}

/** The attempt under way; an abandoned one does not count. */
export function findAttempt(app: App, target: RekeyTarget): RekeyAttempt | undefined {
  const attempts = attemptsOf(app);
  const attempt = attempts[target];
  if (attempt !== undefined && isRekeyLeft(attempt, app.now())) drop(attempts, target);
  return attempts[target];
}

export function requireNonce(given: string | undefined, expected: string): void {
  if (given !== expected) {
    throw invalid(`incorrect nonce supplied; nonce for this rekey operation is "${expected}"`);
  }
}

export interface ShareInput {
  target: RekeyTarget;
  key?: string | undefined;
  nonce?: string | undefined;
}
