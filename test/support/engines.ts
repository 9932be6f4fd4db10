import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { Client } from 'pg';
import type { Engine } from '../../src/store/columns.ts';
import type { StoreLog } from '../../src/store/committer.ts';
import { openStore, type Store, type StoreOptions } from '../../src/store/store.ts';

/** Opens a fresh, empty database; everything is closed and removed when the suite is over. */
export type Open = (options?: { node_name?: string }) => Promise<Store>;

/** A database that can be opened more than once: again after a close, or as a second node. */
export interface Place {
  options(node_name?: string): StoreOptions;
  /** Opens it; what is still open when the suite is over is closed then. */
  open(node_name?: string): Promise<Store>;
  remove(): Promise<void>;
}

const POSTGRES_URL = process.env.GATEHOUSE_TEST_POSTGRES;
const ONLY_POSTGRES = process.env.GATEHOUSE_TEST_ENGINES === 'postgres';

let skipSaid = false;

/**
 * Runs a suite on each engine: SQLite in a temporary directory always, PostgreSQL when
 * `GATEHOUSE_TEST_POSTGRES` is the URL of a server where databases may be created, and then
 * that alone with `GATEHOUSE_TEST_ENGINES=postgres`.
 */
export function eachEngine(name: string, suite: (open: Open, engine: Engine) => void): void {
  eachPlace(name, (newPlace, engine) => {
    suite(async ({ node_name } = {}) => (await newPlace()).open(node_name), engine);
  });
}

/** As {@link eachEngine}, for suites that open a database themselves. */
export function eachPlace(
  name: string,
  suite: (newPlace: () => Promise<Place>, engine: Engine) => void,
): void {
  const engines = [
    ...(ONLY_POSTGRES ? [] : [{ engine: 'sqlite' as const, make: async () => sqlitePlace() }]),
    ...(POSTGRES_URL === undefined
      ? []
      : [{ engine: 'postgres' as const, make: () => postgresPlace(POSTGRES_URL) }]),
  ];
  if (POSTGRES_URL === undefined && !skipSaid) {
    skipSaid = true;
    console.error(
      'PostgreSQL is left out: GATEHOUSE_TEST_POSTGRES is not set (see test/support/postgres.ts)',
    );
  }
  for (const { engine, make } of engines) {
    describe(`${name} (${engine})`, () => {
      const places: Place[] = [];
      suite(async () => {
        const place = await make();
        places.push(place);
        return place;
      }, engine);
      after(async () => {
        for (const place of places) await place.remove();
      });
    });
  }
}

export function sqlitePlace(): Place {
  return sqlitePlaceIn(mkdtempSync(join(tmpdir(), 'gatehouse-')));
}

export function sqlitePlaceIn(directory: string): Place {
  return placeOf(
    (node_name) => ({ engine: 'sqlite', directory, node_name, log: QUIET }),
    async () => rmSync(directory, { recursive: true, force: true }),
  );
}

/** @param server URL of a server; the database of this place gets a name of its own */
export async function postgresPlace(server: string): Promise<Place> {
  const name = `gatehouse_test_${randomBytes(6).toString('hex')}`;
  await runOn(server, `create database ${name} template template0 encoding 'UTF8'`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return placeOf(
    (node_name) => ({ engine: 'postgres', url: url.href, node_name, pool: 4, log: QUIET }),
    () => runOn(server, `drop database if exists ${name} with (force)`),
  );
}

function placeOf(
  optionsFor: (node_name: string) => StoreOptions,
  drop: () => Promise<void>,
): Place {
  const opened: Store[] = [];
  const options = (node_name = 'test') => optionsFor(node_name);
  return {
    options,
    open: async (node_name) => {
      const store = await openStore(options(node_name));
      opened.push(store);
      return store;
    },
    remove: async () => {
      for (const store of opened) await store.close();
      await drop();
    },
  };
}

/** The URL of a place on PostgreSQL. */
export function urlOf(place: Place): string {
  const options = place.options();
  assert.ok(options.engine === 'postgres');
  return options.url;
}

/** Connects to a place on PostgreSQL beside the program, as an administrator would. */
export async function connectTo(place: Place): Promise<Client> {
  const client = new Client({ connectionString: urlOf(place) });
  await client.connect();
  return client;
}

async function runOn(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Tests break things on purpose; what is logged then would only confuse. */
const QUIET: StoreLog = { info: () => {}, warn: () => {}, error: () => {} };
