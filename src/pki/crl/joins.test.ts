import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller } from '../../../test/support/app.ts';
import { parseCrl } from '../../../test/support/crl.ts';
import {
  asNode,
  makeIssuer,
  noteShards,
  numberedSerial,
} from '../../../test/support/crl-mounts.ts';
import { eachPlace } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import type { Mount } from '../../app/mount.ts';
import { formatSerial } from '../../x509/serial.ts';
import { updateIssuer } from '../issuers/operations.ts';
import { joinRevocation } from '../mount-state/joins.store.ts';
import { readMountState } from '../mount-state/operations.ts';
import { findRevocation, insertRevocation } from '../mount-state/revocations.store.ts';
import { renewCrls } from '../tidy/expired.store.ts';
import { readCrlContext } from './context.operations.ts';
import { planClass } from './issuer-class.ts';
import { ALL, COMPLETE, type CrlKind, crlName } from './kind.ts';
import { warnOfLength } from './length.operations.ts';
import { readCrl } from './operations.ts';
import { buildCrl } from './publishing.operations.ts';
import { writeCrlConfig } from './settings.operations.ts';
import { findCrl } from './store.ts';

const of = (cluster: string): CrlKind => ({ ...COMPLETE, of: cluster });
const DAY = 24 * 3600;
const EAST = of('east');
const WEST = of('west');

/** A node of the cluster that a kind is of, which has no CRL in memory. */
function nodeOf(app: App, { of: cluster_name = '' }: CrlKind): App {
  const node = asNode(app, app.store);
  return cluster_name === ALL ? node : { ...node, config: { ...app.config, cluster_name } };
}

/** Numbers on a CRL, in their order; undefined: there is none. */
async function numbersOn(app: App, mount: Mount, kind: CrlKind): Promise<number[] | undefined> {
  const crl = await readCrl(app, mount.id, 'default', kind);
  if (!crl) return undefined;
  const serials = [...parseCrl(crl.der).entries()].map((one) => formatSerial(one.serialNumber));
  return Array.from({ length: 10 }, (_, at) => at).filter((at) =>
    serials.includes(numberedSerial(at)),
  );
}

async function join(app: App, mount: Mount, number: number, cluster = 'west'): Promise<void> {
  const known = await findRevocation(app.db, mount.id, numberedSerial(number));
  assert.ok(known);
  await app.store.commit(joinRevocation(mount.id, known, cluster));
}

/** Numbers below 3, revoked by one cluster. */
async function openMount(app: App): Promise<{ mount: Mount; issuer_id: string }> {
  const made = await makeIssuer(app);
  await writeCrlConfig(app, testCaller(made.mount), {
    auto_rebuild: true,
    enable_delta: true,
    unified_crl: true,
  });
  for (const number of [0, 1, 2]) await revokeBy(app, made, number, 'east');
  return made;
}

async function revokeBy(
  app: App,
  { mount, issuer_id }: { mount: Mount; issuer_id: string },
  number: number,
  clusters: string,
  not_after = 2 ** 33,
): Promise<void> {
  const serial = numberedSerial(number);
  const revocation = { serial, issuer_id, revoked_at_ms: 1e12, reason: 0, clusters, not_after };
  await app.store.commit(insertRevocation(mount.id, revocation));
}

const KINDS: [kind: CrlKind, before: number[], after: number[], why: string][] = [
  [EAST, [0, 1, 2], [0, 1, 2], 'the cluster that revoked first'],
  [WEST, [], [1], 'the one that joined'],
  [of('north'), [], [], 'one that did neither'],
  [of(ALL), [0, 1, 2], [0, 1, 2], 'all of them'],
];

eachPlace('revocations that a further cluster makes', (newPlace) => {
  test('are on the CRL of both, once, and on those of all, once', async () => {
    const { app, clock } = await openTestApp(await (await newPlace()).open());
    const { mount } = await openMount(app);
    for (const [kind, before, , why] of KINDS) {
      assert.deepEqual(await numbersOn(nodeOf(app, kind), mount, kind), before, why);
    }
    await join(app, mount, 1);
    clock.now += 3 * DAY;
    for (const [kind, , after, why] of KINDS) {
      const node = nodeOf(app, kind);
      assert.deepEqual(await numbersOn(node, mount, kind), after, why);
      const first = await readCrl(node, mount.id, 'default', kind);
      const again = await readCrl(nodeOf(app, kind), mount.id, 'default', kind);
      assert.equal(again?.number, first?.number, `${why}: made again, not anew`);
    }
  });

  for (const [kind, before, , why] of KINDS) {
    test(`leave the last CRL of an issuer that may not sign any more: ${why}`, async () => {
      const { app } = await openTestApp(await (await newPlace()).open());
      const { mount, issuer_id } = await openMount(app);
      const last = await readCrl(nodeOf(app, kind), mount.id, 'default', kind);
      await updateIssuer(app, testCaller(mount), { issuer_ref: issuer_id, usage: ['read-only'] });
      await join(app, mount, 1);
      const node = nodeOf(app, kind);
      assert.deepEqual(await numbersOn(node, mount, kind), before);
      assert.equal((await readCrl(node, mount.id, 'default', kind))?.number, last?.number);
    });
  }

  test('of a certificate that has ended are on one CRL of whoever joins, as of any revocation', async () => {
    const { app, clock } = await openTestApp(await (await newPlace()).open());
    const made = await openMount(app);
    const { mount } = made;
    const ends = Math.floor(app.now() / 1000) + 10;
    await revokeBy(app, made, 4, 'east', ends);
    const west = nodeOf(app, WEST);
    await readCrl(west, mount.id, 'default', WEST);
    const next = async (): Promise<number[] | undefined> => {
      clock.now += 3 * DAY;
      const seen = await numbersOn(west, mount, WEST);
      assert.deepEqual(await numbersOn(nodeOf(app, WEST), mount, WEST), seen);
      return seen;
    };
    assert.deepEqual(await next(), []);
    await join(app, mount, 4);
    assert.deepEqual(await next(), [4]);
    assert.deepEqual(await next(), []);
  });

  for (const [what, isOlder] of [
    ['of now', false],
    ['of an older epoch, as it has room for no more', true],
  ] as const) {
    test(`are on the delta of whoever joins and on no other, where the complete CRL is ${what}`, async () => {
      const { app, clock } = await openTestApp(await (await newPlace()).open());
      const made = await openMount(app);
      const { mount } = made;
      await revokeBy(app, made, 5, 'west');
      const shown = async (kind: CrlKind) => [
        await numbersOn(nodeOf(app, kind), mount, kind),
        await numbersOn(nodeOf(app, kind), mount, { ...kind, delta: true }),
      ];
      for (const kind of [EAST, WEST, of(ALL)]) await shown(kind);
      await join(app, mount, 1);
      clock.now += 3600;
      if (isOlder) {
        await writeCrlConfig(app, testCaller(mount), { max_crl_entries: 1 });
        await app.store.commit([renewCrls(mount.id)]);
      }
      assert.deepEqual(await shown(WEST), [[5], [1]]);
      assert.deepEqual(await shown(EAST), [[0, 1, 2], []]);
      assert.deepEqual(await shown(of(ALL)), [[0, 1, 2, 5], []]);
      await writeCrlConfig(app, testCaller(mount), { max_crl_entries: 2 });
      clock.now += 3 * DAY;
      assert.deepEqual(await shown(WEST), [[1, 5], []]);
    });
  }

  test('are on a CRL that is about to be made, which stays in force', async () => {
    const { app } = await openTestApp(await (await newPlace()).open());
    for (const [kind, , after, why] of KINDS) {
      const { mount } = await openMount(app);
      const state = await readMountState(app, mount.id);
      const [issuer] = state.issuers.values();
      assert.ok(issuer);
      const issuers = planClass(state, issuer);
      const node = nodeOf(app, kind);
      const context = await readCrlContext(node, { mount_id: mount.id, issuers, kind });
      assert.ok(context);
      await join(app, mount, 1);
      await buildCrl(node, context);
      const stored = await findCrl(app.db, mount.id, crlName(issuers.id, kind));
      assert.deepEqual(await numbersOn(node, mount, kind), after, why);
      const read = await readCrl(nodeOf(app, kind), mount.id, 'default', kind);
      assert.equal(read?.number, stored?.number, why);
    }
  });

  test('have no CRL made anew for each of them', async () => {
    const { app } = await openTestApp(await (await newPlace()).open());
    const made = await openMount(app);
    const { mount } = made;
    const first = await readCrl(nodeOf(app, EAST), mount.id, 'default', EAST);
    for (const number of [0, 1, 2]) {
      await join(app, mount, number);
      const read = await readCrl(nodeOf(app, EAST), mount.id, 'default', EAST);
      assert.equal(read?.number, first?.number);
    }
  });

  test('are on the CRL that is read next without auto_rebuild, and on their own shard alone', async () => {
    const { app } = await openTestApp(await (await newPlace()).open());
    const { mount } = await openMount(app);
    const off = { auto_rebuild: false, enable_delta: false, unified_crl: false };
    await writeCrlConfig(app, testCaller(mount), off);
    await noteShards(app, mount, 2);
    const node = nodeOf(app, COMPLETE);
    const kinds = [undefined, 0, 1].map((number) =>
      number === undefined ? COMPLETE : { ...COMPLETE, shard: { number, count: 2 } },
    );
    const readAll = () =>
      Promise.all(kinds.map((kind) => readCrl(node, mount.id, 'default', kind)));
    const numbersOfAll = () => Promise.all(kinds.map((kind) => numbersOn(node, mount, kind)));
    assert.deepEqual(await numbersOfAll(), [[], [], []]);
    const before = await readAll();
    await join(app, mount, 1, '');
    assert.deepEqual(await numbersOfAll(), [[1], [1], []]);
    const isSame = (await readAll()).map((crl, at) => crl?.number === before[at]?.number);
    assert.deepEqual(isSame, [false, false, true]);
  });

  const WARNED: [cluster: string, most: number, joined: boolean, warned: boolean, why: string][] = [
    ['west', 1, true, true, 'it joined, and has no room'],
    ['west', 2, true, false, 'it joined, and has room'],
    ['west', 1, false, false, 'it did not join'],
    ['east', 3, true, false, 'it has it already'],
    ['north', 0, true, false, 'it has none'],
  ];
  for (const [cluster, most, joins, warned, why] of WARNED) {
    test(`are ${warned ? 'warned' : 'not warned'} about where they are too many for "${cluster}": ${why}`, async () => {
      const { app } = await openTestApp(await (await newPlace()).open());
      const made = await openMount(app);
      const { mount, issuer_id } = made;
      await revokeBy(app, made, 5, 'west');
      const kind = of(cluster);
      const node = nodeOf(app, kind);
      await readCrl(node, mount.id, 'default', kind);
      await writeCrlConfig(app, testCaller(mount), { max_crl_entries: most });
      if (joins) await join(app, mount, 1);
      const warnings = await warnOfLength(node, mount.id, issuer_id);
      assert.equal(warnings.length, warned ? 1 : 0);
    });
  }
});
