import { createHash } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { Failure, invalid } from '../core/failure.ts';
import { MIGRATIONS } from './migrations.ts';

// A backup is a SQLite database, from whichever engine it was taken: the tables as they were,
// one more that says what it is, and behind the last page a line with the SHA-256 of all
// before it. `head -c -91 FILE | sha256sum` says the same to people.

const CHECKSUM_LINE = /^\ngatehouse backup 1 sha256 ([0-9a-f]{64})\n$/;
const CHECKSUM_LENGTH = '\ngatehouse backup 1 sha256 \n'.length + 64;
const CHUNK = 1 << 20;

/** What a backup says of itself. */
export interface BackupFacts {
  /** Number of the last migration. */
  schema: number;
  /** The engine that it was taken from. */
  engine: string;
  taken_at_ms: number;
  /** Version of the program that took it. */
  program: string;
}

/** Writes the facts into the database that becomes a backup. */
export function writeFacts(database: DatabaseSync, facts: Omit<BackupFacts, 'schema'>): void {
  database.exec(
    'create table backup (engine text not null, taken_at_ms integer not null, program text not null) strict',
  );
  database
    .prepare('insert into backup values (?, ?, ?)')
    .run(facts.engine, facts.taken_at_ms, facts.program);
}

/**
 * Reads the facts, and takes them out of the database again.
 *
 * @throws Failure `unavailable` when a later program made the backup
 */
export function takeFacts(database: DatabaseSync): BackupFacts {
  const row = database.prepare('select engine, taken_at_ms, program from backup').get();
  const schema = readSchema(database);
  const newest = MIGRATIONS.at(-1)?.number ?? 0;
  if (schema > newest) {
    throw new Failure(
      'unavailable',
      `the backup is at schema ${schema} and this program knows schemas up to ${newest}: restore it with the program that made it, or a later one`,
    );
  }
  database.exec('drop table backup');
  return {
    schema,
    engine: String(row?.engine),
    taken_at_ms: Number(row?.taken_at_ms),
    program: String(row?.program),
  };
}

/** The numbers of the migrations that a SQLite database has had. */
export function readApplied(database: DatabaseSync): number[] {
  const rows = database.prepare('select number from schema_migration').all();
  return rows.map(({ number }) => Number(number));
}

/** The number of the last migration of a SQLite database; 0 before the first. */
export function readSchema(database: DatabaseSync): number {
  const row = database.prepare('select max(number) as number from schema_migration').get();
  return Number(row?.number ?? 0);
}

/** Adds the line with the checksum to a finished database file. */
export function appendChecksum(path: string): void {
  const file = openSync(path, 'r');
  const hash = createHash('sha256');
  try {
    eachChunk(file, fstatSync(file).size, (chunk) => hash.update(chunk));
  } finally {
    closeSync(file);
  }
  appendFileSync(path, `\ngatehouse backup 1 sha256 ${hash.digest('hex')}\n`);
}

/**
 * Copies the database out of a backup into a new file that only its owner can read.
 *
 * @throws Failure `invalid` when the backup was cut short or changed; then the copy is of no use
 */
export function copyChecked(path: string, target: string): void {
  const file = openForReading(path);
  const copy = openSync(target, 'wx', 0o600);
  try {
    const length = fstatSync(file).size - CHECKSUM_LENGTH;
    const line = Buffer.alloc(CHECKSUM_LENGTH);
    if (length > 0) readSync(file, line, 0, CHECKSUM_LENGTH, length);
    const [, expected] = CHECKSUM_LINE.exec(line.toString('latin1')) ?? [];
    if (expected === undefined) {
      throw invalid(`"${path}" is not a whole backup: it was cut short, or is something else`);
    }
    const hash = createHash('sha256');
    eachChunk(file, length, (chunk) => {
      hash.update(chunk);
      writeSync(copy, chunk);
    });
    if (hash.digest('hex') !== expected) {
      throw invalid(`"${path}" was changed since it was made: its checksum is wrong`);
    }
    fsyncSync(copy);
  } finally {
    closeSync(copy);
    closeSync(file);
  }
}

/** Waits until a file or a directory's entries are on the disk. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function openForReading(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (cause) {
    throw invalid(`the backup "${path}" cannot be read`, { cause });
  }
}

function eachChunk(file: number, length: number, take: (chunk: Uint8Array) => void): void {
  const buffer = Buffer.alloc(CHUNK);
  for (let at = 0; at < length; ) {
    const read = readSync(file, buffer, 0, Math.min(CHUNK, length - at), at);
    if (read === 0) throw new Error('the file became shorter while it was read');
    take(buffer.subarray(0, read));
    at += read;
  }
}
