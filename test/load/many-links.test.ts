import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { insertLinks, type LinkKind } from '../../src/broker/resource/links/store.ts';
import type { Store } from '../../src/store/store.ts';
import { eachPlace } from '../support/engines.ts';
import { copyRow } from '../support/many-rows.ts';
import { type Broker, startBroker } from '../support/seeded-broker.ts';
import { holdsNobodyUp } from '../support/turns.ts';

/** Changing links of something that has very many holds nobody up, neither here nor while it is written. */

const COUNT = 9_990;
/** Of a write set, however many links it takes away. */
const FEW_STATEMENTS = 10;

const copyId = (at: number, of: string): string => `${of}${1_000_000 + at}`;
const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

eachPlace('links of one thing', (newPlace) => {
  let broker: Broker;
  /** Statements of the largest write set of late. */
  let largest = 0;
  const counting = (real: Store): Store => ({
    ...real,
    commit(effects) {
      largest = Math.max(largest, effects.length);
      return real.commit(effects);
    },
  });
  const stops: (() => unknown)[] = [];
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });

  before(async () => {
    const test = { after: (stop: () => Promise<void>) => stops.push(stop) };
    broker = await startBroker(test, { place: await newPlace(), store: counting });
  });

  async function copy(id: string): Promise<string[]> {
    const { store } = broker.client.running.app;
    const changes = {
      id: sql`${sql.ref('id')} || (1000000 + n.i)`,
      name: sql`${sql.ref('name')} || n.i`,
    };
    await copyRow(store, 'resource', { of: { id }, copies: COUNT, changes });
    return range(COUNT).map((at) => copyId(at, id));
  }

  const kinds: [
    plural: string,
    kind: LinkKind,
    what: string,
    make: () => Promise<{ of: string; linked: string }>,
  ][] = [
    ['groups', 'group-member', 'members', () => of('groups', 'users')],
    ['roles', 'role-principal', 'principals', () => of('roles', 'users')],
    ['host-sets', 'host-set-host', 'hosts', hosts],
  ];

  async function of(plural: string, linked: string): Promise<{ of: string; linked: string }> {
    const description = 'x'.repeat(1_000);
    return {
      of: await broker.make(plural, { scope_id: 'global' }),
      linked: await broker.make(linked, {
        scope_id: 'global',
        name: `one of ${plural}`,
        description,
      }),
    };
  }

  async function hosts(): Promise<{ of: string; linked: string }> {
    const { make, project: scope_id } = broker;
    const host_catalog_id = await make('host-catalogs', { scope_id, type: 'static' });
    const attributes = { address: '10.1.1.1' };
    return {
      of: await make('host-sets', { host_catalog_id, type: 'static' }),
      linked: await make('hosts', { host_catalog_id, type: 'static', name: 'h', attributes }),
    };
  }

  for (const [plural, kind, what, make] of kinds) {
    test(`nobody is held up by a change of one of ${COUNT} ${what}`, async () => {
      const { of: from_id, linked } = await make();
      const to_ids = await copy(linked);
      await broker.client.running.app.store.commit(insertLinks({ from_id, kind, to_ids }));
      const field = `${what.slice(0, -1)}_ids`;
      for (const [version, verb] of ['add', 'remove'].entries()) {
        const body = { version: version + 1, [field]: [linked] };
        await holdsNobodyUp(
          async () => {
            const path = `${plural}/${from_id}:${verb}-${what}`;
            const changed = await broker.admin('POST', path, body);
            assert.equal(changed.status, 200, changed.text.slice(0, 300));
          },
          { attempts: 1 },
        );
      }
      const all = { version: 3, [field]: to_ids.slice(0, 2_000) };
      largest = 0;
      await holdsNobodyUp(
        async () => {
          const changed = await broker.admin('POST', `${plural}/${from_id}:set-${what}`, all);
          assert.equal(changed.status, 200, changed.text.slice(0, 300));
        },
        { attempts: 1 },
      );
      assert.ok(largest <= FEW_STATEMENTS, `${largest} statements`);
    });
  }
});
