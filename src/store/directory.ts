import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Failure } from '../core/failure.ts';

/**
 * Makes a directory and those it lies in, where they are missing, for this user alone. One by one:
 * where the system lets nothing be made, as in `/proc`, the runtime's own way never comes back.
 *
 * @throws Failure `unavailable` with one line for the operator
 */
export function makeDirectory(directory: string): void {
  try {
    const missing: string[] = [];
    let at = resolve(directory);
    while (!statSync(at, { throwIfNoEntry: false })) {
      missing.push(at);
      at = dirname(at);
    }
    // Of a file it says that it is there.
    if (!statSync(at).isDirectory()) mkdirSync(at);
    for (const one of missing.reverse()) mkdirSync(one, { mode: 0o700 });
  } catch (cause) {
    const because = cause instanceof Error ? cause.message : String(cause);
    throw new Failure('unavailable', `the directory "${directory}" cannot be used: ${because}`, {
      cause,
    });
  }
}

/** How the folder begins in which a restore prepares what it will put in place. */
export const UNFINISHED = 'gatehouse-restore-';

/** Folders of restores that have not come to their end. */
export function listUnfinished(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.startsWith(UNFINISHED))
    .map((name) => join(directory, name));
}

/**
 * Keeps a server from starting on what a restore left undone: on an empty folder it would be a new
 * one, which the first caller may initialise.
 *
 * @throws Failure `unavailable` with one line for the operator
 */
export function refuseUnfinished(directory: string): void {
  const [left] = listUnfinished(directory);
  if (left === undefined) return;
  throw new Failure(
    'unavailable',
    `a restore into "${directory}" was not finished: repeat it, or remove "${left}" to go on with what is there now`,
  );
}
