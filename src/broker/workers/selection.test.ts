import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../test/support/cpu-time.ts';
import { chooseWorkers, joinTags, judgeWorker } from './selection.ts';

const edge = { name: 'edge-1', tags: { type: ['prod', 'db'], region: ['eu'] } };
const core = { name: 'core-1', tags: { type: ['prod'], region: ['us'] } };
const bare = { name: 'bare', tags: {} };

const cases: [filter: string, chosen: string[] | 'none' | 'filtered' | 'fault', why: string][] = [
  ['', ['edge-1', 'core-1', 'bare'], 'without a filter all of them'],
  ['"prod" in "/tags/type"', ['edge-1', 'core-1'], 'those with the tag'],
  ['"db" in "/tags/type"', ['edge-1'], 'one of several values'],
  ['"/name" == "core-1"', ['core-1'], 'by name'],
  ['"eu" in "/tags/region" or "us" in "/tags/region"', ['edge-1', 'core-1'], 'either region'],
  ['"/tags/type" is not empty', ['edge-1', 'core-1'], 'a worker without the key does not match'],
  ['"prod" not in "/tags/type"', 'filtered', 'what is missing does not match a "not" either'],
  ['not "prod" in "/tags/type"', 'filtered', 'nor one before the whole'],
  ['"dev" in "/tags/type"', 'filtered', 'nobody has the value'],
  ['type == "bar"', 'filtered', 'a key that no worker has is no error'],
  ['"/item/name" == "edge-1"', 'filtered', 'there is no "item" here'],
  ['"/name" contains "1"', ['edge-1', 'core-1'], 'a part of the name'],
  ['"/tags" == "x"', 'fault', 'tags as a whole cannot be compared'],
  ['"/tags/type" matches "p.*"', 'fault', 'a list cannot be matched'],
  ['bad expression', 'fault', 'a filter that cannot be read'],
];

for (const [filter, wanted, why] of cases) {
  test(`workers by "${filter}": ${why}`, () => {
    const verdict = chooseWorkers([edge, core, bare], filter);
    if ('chosen' in verdict) {
      assert.deepEqual(
        verdict.chosen.map((worker) => worker.name),
        wanted,
      );
    } else assert.equal(verdict.refused, wanted);
  });
}

test('no live worker is said so before the filter is looked at', () => {
  const verdict = chooseWorkers([], 'bad expression');
  assert.deepEqual(verdict, {
    refused: 'none',
    because: 'No workers are available to handle this session.',
  });
});

test('a fault of the filter says that the filter is to blame', () => {
  const verdict = chooseWorkers([edge], '"/tags" == "x"');
  assert.match(
    'because' in verdict ? verdict.because : '',
    /^Worker filter expression evaluation resulted in error/,
  );
});

test('tags of two origins are joined, each value once', () => {
  assert.deepEqual(joinTags({ type: ['a', 'b'] }, { type: ['b', 'c'], zone: ['z'] }), {
    type: ['a', 'b', 'c'],
    zone: ['z'],
  });
});

test('a filter that was stored before filters had limits admits nobody, and says why', () => {
  const filter = `"/name" matches "(${'a'.repeat(1_300)}){1000}"`;
  const verdict = chooseWorkers([edge, core], filter);
  assert.ok('refused' in verdict);
  assert.equal(verdict.refused, 'fault');
  assert.match(verdict.because, /longer than 1000 characters/);
  assert.equal(judgeWorker(edge, filter), false);
});

test('a filter that costs more than a choice may admits nobody, and says why', async () => {
  const many = Array.from({ length: 2_000 }, (_, at) => ({
    name: `worker-${at}`,
    tags: { type: Array.from({ length: 256 }, (_unused, value) => `v${value}`) },
  }));
  const filter = 'any tags as key, values { any values as value { value == "x" } }';
  await spendsAtMost(100, () => {
    const verdict = chooseWorkers(many, filter);
    assert.equal('refused' in verdict && verdict.refused, 'fault');
  });
  assert.equal('chosen' in chooseWorkers(many.slice(0, 500), '"v7" in "/tags/type"'), true);
});
