import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
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
