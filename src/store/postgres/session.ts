import { createHash } from 'node:crypto';
import { Client, type ClientConfig, types } from 'pg';
import { parsePostgresUrl } from '../../core/postgres-url.ts';
import { isServerError } from '../pipeline.ts';
import { describeConnectFailure, tlsOf } from './secured.ts';

// What all our connections to PostgreSQL have in common.

/**
 * What we ask for is found by an index. Where a column mostly holds one value, as the parent of a
 * hundred thousand tokens, PostgreSQL expects as many rows of every value, and looks through the
 * whole table for one that is not there. A plan without an index is not worth compiling, either.
 */
export const BY_INDEX = 'set enable_seqscan = off; set jit = off;';

/** Milliseconds that a connection may take to come about. */
export const CONNECT_TIMEOUT_MS = 5_000;

const INT8 = 20;
const BYTEA = 17;

/** @param purpose shows beside the connection in `pg_stat_activity` */
export function sessionConfig(text: string, purpose: string): ClientConfig {
  const { url, security } = parsePostgresUrl(text);
  return {
    connectionString: url,
    ssl: tlsOf(security),
    application_name: `gatehouse ${purpose}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: {
      getTypeParser: (oid: number, format?: string) => {
        if (oid === INT8) return parseInteger;
        if (oid === BYTEA) return parseBytes;
        return types.getTypeParser(oid, format === 'binary' ? 'binary' : 'text');
      },
    },
  };
}

/** What a pool makes connections with: it would take the files of TLS as they were when it was made. */
export function clientOf(text: string, purpose: string): new () => Client {
  const first = sessionConfig(text, purpose);
  const now = (): ClientConfig => {
    try {
      return sessionConfig(text, purpose);
    } catch (error) {
      // A pool expects no error here: without its files the connection is refused once it is there.
      const because = error instanceof Error ? error : new Error('the files of TLS cannot be read');
      return { ...first, ssl: { rejectUnauthorized: true, checkServerIdentity: () => because } };
    }
  };
  return class extends Client {
    constructor() {
      super(now());
    }
  };
}

/** @throws Failure `unavailable` with one line for the operator */
export async function connectSession(client: Pick<Client, 'connect'>): Promise<void> {
  try {
    await client.connect();
  } catch (error) {
    throw describeConnectFailure(error);
  }
}

/** 64-bit integers become numbers, as they are on SQLite; one that cannot is an error. */
function parseInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`an integer beyond 2^53: ${text}`);
  return value;
}

/** Plain bytes, as they are on SQLite, from the form `\x00ff`. `Uint8Array.fromHex` takes 8 ms for a megabyte, this 0.6. */
function parseBytes(text: string): Uint8Array {
  const bytes = new Uint8Array((text.length - 2) >> 1);
  const written = Buffer.from(bytes.buffer).write(text.slice(2), 'hex');
  if (written !== bytes.length) throw new TypeError('bytes that are not hexadecimal');
  return bytes;
}

/** A key for `pg_advisory_lock`: 64 bits of a hash, so that names do not meet by chance. */
export function lockKey(name: string): string {
  const hash = createHash('sha256').update(`gatehouse lock\0${name}`).digest();
  return hash.readBigInt64BE(0).toString();
}

/** Classes of SQLSTATE that say the statement or its values are wrong, not the server. */
const STATEMENT_CLASSES = /^(0A|21|22|23|2F|38|39|42|44|54|P0)/;

/** Whether it is the statement that failed, and not the database or the way to it. */
export function isStatementError(error: unknown): boolean {
  if (isServerError(error)) return STATEMENT_CLASSES.test(error.code);
  return error instanceof TypeError || error instanceof RangeError;
}
