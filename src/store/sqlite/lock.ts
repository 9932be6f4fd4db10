import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Failure } from '../../core/failure.ts';

/**
 * Keeps a second process out: the committer holds the head of the audit chain in memory.
 * The lock is the operating system's and ends with the process, however that ends.
 *
 * @throws Failure `unavailable` when another process has it
 */
export function lockDirectory(directory: string): DatabaseSync {
  const file = join(directory, 'lock');
  createPrivate(file);
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive');
    return lock;
  } catch (cause) {
    lock.close();
    throw new Failure('unavailable', `another process has the directory ${directory} open`, {
      cause,
    });
  }
}

/**
 * Creates an empty file that only its owner can read. One that exists is not even opened:
 * closing it again would give up the locks that this process has on it (POSIX, fcntl).
 */
export function createPrivate(file: string): void {
  if (!existsSync(file)) closeSync(openSync(file, 'wx', 0o600));
}
