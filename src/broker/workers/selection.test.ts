import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../test/support/cpu-time.ts';
import { chooseIngress, chooseWorkers, joinTags, judgeIngress, judgeWorker } from './selection.ts';

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

const front = { name: 'front', tags: { type: ['front'] }, address: '192.0.2.1:9202' };
const second = { name: 'second', tags: { type: ['front', 'db'] }, address: '192.0.2.2:9202' };
/** Takes no connections. */
const inside = { name: 'inside', tags: { type: ['db', 'inner'] }, address: '' };
const alive = [front, second, inside];
const IS = (tag: string): string => `"${tag}" in "/tags/type"`;

const ingresses: [
  filters: { egress?: string; ingress?: string },
  chosen: string[] | 'none' | 'filtered' | 'fault',
  kept: string,
  why: string,
][] = [
  [{}, ['front', 'second'], '', 'without filters all that can be reached'],
  [{ egress: IS('front') }, ['front', 'second'], '', 'those that reach the endpoint'],
  [{ egress: IS('db') }, ['second'], '', 'of those the ones that can be reached'],
  [{ egress: IS('inner') }, ['front', 'second'], '*', 'any, where none of those can be reached'],
  [{ egress: IS('none') }, 'filtered', '', 'none, where none reaches the endpoint'],
  [{ ingress: IS('front') }, ['front', 'second'], IS('front'), 'those of the ingress filter'],
  [{ ingress: IS('inner') }, 'filtered', '', 'of those, too, only the ones that can be reached'],
  [
    { ingress: '"/name" == "front"', egress: IS('inner') },
    ['front'],
    '"/name" == "front"',
    'the ingress filter chooses where both are set',
  ],
  [
    { ingress: IS('front'), egress: IS('none') },
    'filtered',
    '',
    'and none, where none reaches the endpoint',
  ],
  [{ ingress: '"/tags" == "x"' }, 'fault', '', 'an ingress filter that cannot be asked'],
  [{ ingress: IS('front'), egress: '"/tags" == "x"' }, 'fault', '', 'nor an egress filter'],
];
for (const [{ egress = '', ingress = '' }, wanted, kept, why] of ingresses) {
  test(`clients come to (egress ${egress}, ingress ${ingress}): ${why}`, () => {
    const filters = { worker_filter: egress, ingress_worker_filter: ingress };
    const verdict = chooseIngress(alive, filters);
    if ('refused' in verdict) {
      assert.equal(verdict.refused, wanted);
      return;
    }
    const names = verdict.chosen.map(({ name }) => name);
    assert.deepEqual(names, wanted);
    assert.equal(verdict.ingress_worker_filter, kept);
    // What was chosen is admitted later on, and the others are not.
    const session = { worker_filter: egress, ingress_worker_filter: kept };
    for (const worker of [front, second]) {
      assert.equal(judgeIngress(worker, session), names.includes(worker.name), worker.name);
    }
  });
}

test('nobody can be reached: said as if there were none', () => {
  const filters = { worker_filter: '', ingress_worker_filter: '' };
  const verdict = chooseIngress([inside], filters);
  assert.equal('refused' in verdict && verdict.refused, 'none');
  const inner = { ...filters, worker_filter: IS('inner') };
  assert.equal('refused' in chooseIngress([inside], inner), true);
});
