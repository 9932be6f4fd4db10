import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { KEY_LENGTH } from '../barrier/envelope.ts';
import { Failure } from '../core/failure.ts';

/** Permission bits of the group and of everybody else. */
const OTHERS = 0o077;

/**
 * Reads the seal key from its file.
 *
 * @returns 32 bytes that the caller wipes; undefined if there is no such file
 * @throws Failure `unavailable` if the file is open to others or is not a key
 */
export function readKeyFile(path: string): Uint8Array | undefined {
  const file = openKeyFile(path);
  if (file === undefined) return undefined;
  try {
    // Of the open file, not of the name: the name may point elsewhere a moment later.
    const { mode, size } = fstatSync(file);
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
      throw new Failure('unavailable', `the key file "${path}" is not a file`);
    }
    if ((mode & OTHERS) !== 0) {
      const octal = (mode & 0o777).toString(8).padStart(4, '0');
      throw new Failure(
        'unavailable',
        `the key file "${path}" has mode ${octal}: only its owner may have access, as with "chmod 0600"`,
      );
    }
    const key = new Uint8Array(KEY_LENGTH);
    if (size !== KEY_LENGTH || readSync(file, key) !== KEY_LENGTH) {
      throw new Failure(
        'unavailable',
        `the key file "${path}" has ${size} bytes: a key is ${KEY_LENGTH} random bytes`,
      );
    }
    return key;
  } finally {
    closeSync(file);
  }
}

function openKeyFile(path: string): number | undefined {
  try {
    // Not waiting: a pipe in the file's place must not hold the server.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined;
    throw new Failure('unavailable', `the key file "${path}" cannot be read: ${codeOf(cause)}`, {
      cause,
    });
  }
}

/**
 * Writes a new key file that only its owner can read, durable before this returns.
 *
 * @throws Failure `unavailable` if there is a file already or it cannot be written
 */
export function createKeyFile(path: string, key: Uint8Array): void {
  let file: number | undefined;
  try {
    file = openSync(path, 'wx', 0o600);
    writeSync(file, key);
    fsyncSync(file);
    const directory = openSync(dirname(path), 'r');
    fsyncSync(directory);
    closeSync(directory);
  } catch (cause) {
    throw new Failure('unavailable', `the key file "${path}" cannot be written: ${codeOf(cause)}`, {
      cause,
    });
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
}
