import assert from 'node:assert/strict';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import {
  type Bench,
  type Contender,
  type ContestCase,
  contestAll,
  must,
} from '../support/racing.ts';

/** The last room for a mount is taken once, whichever nodes are asked for it. */

const LARGEST = { options: { n: 'x'.repeat(65_000) } };

async function fill({ maker }: Bench, kind: 'secret' | 'auth', body: object, upTo: number) {
  const at = kind === 'auth' ? 'sys/auth' : 'sys/mounts';
  const type = kind === 'auth' ? 'userpass' : 'pki';
  await must(maker.call('POST', `${at}/full`, { type, ...body }));
  const { count } = await maker.running.app.db
    .selectFrom('mount')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('kind', '=', kind)
    .executeTakeFirstOrThrow();
  await copyRow(maker.running.app.store, 'mount', {
    of: { kind, path: 'full/' },
    copies: upTo - count,
    changes: { id: numbered('id'), path: numbered('path'), accessor: numbered('accessor') },
  });
}

/** What the case before has left. */
const clear = ({ maker }: Bench): Promise<void> =>
  maker.running.app.store.commit([
    { sql: "delete from mount where path like '%full/' or path in ('a/', 'b/')", parameters: [] },
    bumpConfigVersion(),
  ]);

function forOne(
  name: string,
  prepare: (bench: Bench) => Promise<void>,
  contenders: [Contender, Contender],
  why: RegExp,
): ContestCase {
  return {
    name,
    async setUp(bench) {
      await clear(bench);
      await prepare(bench);
      await bench.remover.running.app.store.refreshConfig();
      const [one, other] = contenders;
      return {
        one,
        other,
        judge: async ({ slower }) => {
          assert.equal(slower.reply.status, 400, slower.reply.text.slice(0, 300));
          assert.match(slower.reply.text, why);
        },
      };
    },
  };
}

const [MOST, MOST_LARGE] = [5000, 63];
const pki = { type: 'pki' };
const up = { type: 'userpass' };

contestAll('of two requests at once for the last room for a mount', [
  forOne(
    'one settings grow',
    async (bench) => {
      await must(bench.maker.call('POST', 'sys/auth/a', up));
      await must(bench.maker.call('POST', 'sys/auth/b', up));
      await fill(bench, 'auth', LARGEST, MOST_LARGE + 3);
    },
    [
      { method: 'POST', path: 'sys/auth/a/tune', body: LARGEST },
      { method: 'POST', path: 'sys/auth/b/tune', body: LARGEST },
    ],
    /may have at most 4194304/,
  ),
  forOne(
    'one engine is mounted',
    (bench) => fill(bench, 'secret', {}, MOST - 1),
    [
      { method: 'POST', path: 'sys/mounts/a', body: pki },
      { method: 'POST', path: 'sys/mounts/b', body: pki },
    ],
    /there are 5000 secrets engines/,
  ),
]);
