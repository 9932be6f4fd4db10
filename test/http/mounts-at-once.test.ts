// Two requests at once that change mounts: what was acknowledged stays, and no mount lies in another.

import assert from 'node:assert/strict';
import {
  type Bench,
  type Contender,
  type ContestCase,
  contestAll,
  must,
} from '../support/racing.ts';

const KINDS = [
  { kind: 'sys/mounts', type: 'pki', full: '' },
  { kind: 'sys/auth', type: 'userpass', full: 'auth/' },
] as const;

type Kind = (typeof KINDS)[number];

async function enable({ maker }: Bench, { kind, type }: Kind, path: string): Promise<void> {
  await must(maker.call('POST', `${kind}/${path}`, { type }));
}

/** All paths of a kind that begin so, on the node that was not the slower one. */
async function pathsIn(bench: Bench, { kind }: Kind, under: string): Promise<string[]> {
  const all = await must(bench.maker.call('GET', kind));
  return Object.keys(all.field('data') as object).filter((path) => path.startsWith(under));
}

/** Two new places for mounts, of which only one may be taken. */
function apart(of: Kind, name: string, places: readonly [string, string]): ContestCase[] {
  const mounting = (path: string): Contender => ({
    method: 'POST',
    path: `${of.kind}/${path}`,
    body: { type: of.type },
  });
  const moving = (from: string, to: string): Contender => ({
    method: 'POST',
    path: 'sys/remount',
    body: { from: `${of.full}${from}`, to: `${of.full}${to}` },
  });
  const contest = (
    how: string,
    plan: (bench: Bench, paths: readonly [string, string]) => Promise<[Contender, Contender]>,
  ): ContestCase => ({
    name: `two ${how} of ${of.kind} to ${name}, of which one is made`,
    async setUp(bench) {
      const base = `m${bench.next()}`;
      const [one, other] = await plan(bench, [`${base}/${places[0]}`, `${base}/${places[1]}`]);
      return {
        one,
        other,
        async judge({ slower }) {
          assert.equal(slower.reply.status, 400, slower.reply.text);
          assert.match(slower.reply.text, /already in use at/);
          assert.equal((await pathsIn(bench, of, `${base}/`)).length, 1);
        },
      };
    },
  });
  return [
    contest('mounts', async (_bench, [a, b]) => [mounting(a), mounting(b)]),
    contest('moves', async (bench, [a, b]) => {
      const [from, other] = [`f${bench.next()}`, `f${bench.next()}`];
      await enable(bench, of, from);
      await enable(bench, of, other);
      return [moving(from, a), moving(other, b)];
    }),
    contest('ways, a mount and a move,', async (bench, [a, b]) => {
      const from = `f${bench.next()}`;
      await enable(bench, of, from);
      return [mounting(a), moving(from, b)];
    }),
  ];
}

/** Places that are near each other, and no clash. */
function beside(of: Kind, places: readonly [string, string]): ContestCase {
  return {
    name: `two mounts of ${of.kind} at ${places.join(' and ')}, both made`,
    async setUp(bench) {
      const base = `m${bench.next()}`;
      const mounting = (path: string): Contender => ({
        method: 'POST',
        path: `${of.kind}/${base}/${path}`,
        body: { type: of.type },
      });
      return {
        one: mounting(places[0]),
        other: mounting(places[1]),
        async judge({ slower }) {
          assert.equal(slower.reply.status, 204, slower.reply.text);
          assert.equal((await pathsIn(bench, of, `${base}/`)).length, 2);
        },
      };
    },
  };
}

/** Something that is done to one mount while it is tuned. */
function tuned(
  of: Kind,
  name: string,
  plan: (path: string) => Contender,
  judge: (bench: Bench, path: string, refused: boolean) => Promise<void>,
): ContestCase {
  return {
    name: `a tune of ${of.kind} and ${name}`,
    async setUp(bench) {
      const path = `t${bench.next()}`;
      await enable(bench, of, path);
      return {
        one: {
          method: 'POST',
          path: `${of.kind}/${path}/tune`,
          body: { max_lease_ttl: '1h' },
        },
        other: plan(path),
        judge: ({ slower, quicker }) => {
          if (quicker.by.path.endsWith('/tune')) assert.ok(slower.reply.status < 300);
          return judge(bench, path, slower.reply.status >= 300);
        },
      };
    },
  };
}

const settings = async (bench: Bench, of: Kind, path: string) =>
  must(bench.maker.call('GET', `${of.kind}/${path}/tune`));

const tunings = (of: Kind): ContestCase[] => [
  tuned(
    of,
    'another one of its fields',
    (path) => ({
      method: 'POST',
      path: `${of.kind}/${path}/tune`,
      body: { listing_visibility: 'hidden', description: 'ours' },
    }),
    async (bench, path) => {
      const read = await settings(bench, of, path);
      assert.equal(read.field('data.max_lease_ttl'), 3600);
      assert.equal(read.field('data.listing_visibility'), 'hidden');
      assert.equal(read.field('data.description'), 'ours');
    },
  ),
  tuned(
    of,
    'its move',
    (path) => ({
      method: 'POST',
      path: 'sys/remount',
      body: { from: `${of.full}${path}`, to: `${of.full}moved-${path}` },
    }),
    async (bench, path, refused) => {
      const read = await settings(bench, of, `moved-${path}`);
      assert.equal(read.field('data.max_lease_ttl'), refused ? 2_764_800 : 3600);
      assert.equal((await bench.maker.call('GET', `${of.kind}/${path}/tune`)).status, 400);
    },
  ),
  tuned(
    of,
    'its removal',
    (path) => ({ method: 'DELETE', path: `${of.kind}/${path}` }),
    async (bench, path) => assert.deepEqual(await pathsIn(bench, of, `${path}/`), []),
  ),
];

/** A path that is removed while its mount goes elsewhere: what is there now was not meant. */
const removals = (of: Kind): ContestCase => ({
  name: `a removal at a path of ${of.kind} and a move from there`,
  async setUp(bench) {
    const path = `r${bench.next()}`;
    await enable(bench, of, path);
    return {
      one: { method: 'DELETE', path: `${of.kind}/${path}` },
      other: {
        method: 'POST',
        path: 'sys/remount',
        body: { from: `${of.full}${path}`, to: `${of.full}moved-${path}` },
      },
      async judge({ quicker, slower }) {
        const moved = await pathsIn(bench, of, `moved-${path}/`);
        const isMoved = quicker.by.path === 'sys/remount';
        assert.equal(moved.length, isMoved ? 1 : 0);
        assert.equal(slower.reply.status, isMoved ? 204 : 400, slower.reply.text);
        assert.deepEqual(await pathsIn(bench, of, `${path}/`), []);
      },
    };
  },
});

contestAll(
  'mounts that are changed by two at once',
  KINDS.flatMap((of) => [
    ...apart(of, 'one place', ['a', 'a']),
    ...apart(of, 'a place in the other', ['a', 'a/b']),
    ...apart(of, 'a place far inside the other', ['a', 'a/b/c/d']),
    beside(of, ['a', 'a0']),
    beside(of, ['a/b', 'a/c']),
    beside(of, ['a', 'a.b']),
    beside(of, ['a', 'A']),
    ...tunings(of),
    removals(of),
  ]),
);
