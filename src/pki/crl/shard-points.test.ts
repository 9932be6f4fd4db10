import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listShardUrls, type PointKey, planPoints, type ShardPoint } from './shard-points.ts';

const NOW = 1_800_000_000;
const DAY = 86_400;
const POINT: PointKey = { cluster: '', count: 4, url: 'http://a.test/{{crl_shard}}' };
const plan = (known: readonly ShardPoint[], not_after: number, now = NOW, point = POINT) =>
  planPoints(known, [point], { not_after, now });

test('an address is noted for longer than its certificate, so that the next one mostly changes nothing', () => {
  const first = plan([], NOW + 8 * DAY);
  assert.deepEqual(first, [{ ...POINT, latest: NOW + 10 * DAY }]);
  assert.deepEqual(plan(first, NOW + 10 * DAY), first);
  assert.deepEqual(plan(first, NOW + 10 * DAY + 1, NOW + DAY)[0]?.latest, NOW + 12.25 * DAY + 2);
  assert.deepEqual(plan([], NOW + 60), [{ ...POINT, latest: NOW + 60 + DAY }]);
  assert.deepEqual(plan(first, NOW + DAY), first, 'it never ends sooner than it was noted for');
});

test('what has ended a month ago is forgotten, and what has not is kept beside it', () => {
  const old = { ...POINT, url: 'http://old.test/{{crl_shard}}', latest: NOW };
  const kept = plan([old], NOW + 31 * DAY, NOW + 30 * DAY);
  assert.deepEqual(
    kept.map(({ url }) => url),
    [old.url, POINT.url],
  );
  const forgotten = plan([old], NOW + 32 * DAY, NOW + 30 * DAY + 1);
  assert.deepEqual(
    forgotten.map(({ url }) => url),
    [POINT.url],
  );
});

test('a hundred addresses at a time, and not one more', () => {
  let points: ShardPoint[] = [];
  for (let at = 0; at < 100; at++) {
    points = plan(points, NOW + DAY, NOW, { ...POINT, url: `http://${at}.test/{{crl_shard}}` });
  }
  assert.equal(points.length, 100);
  assert.throws(() => plan(points, NOW + DAY), /name 100 different addresses of shards already/);
  assert.equal(plan(points, NOW + 9 * DAY, NOW + 3 * DAY).length, 101, 'others have ended');
});

const LISTED: ShardPoint[] = [
  { ...POINT, latest: NOW },
  { ...POINT, url: 'http://b.test/{{crl_shard}}/{{crl_shard}}', cluster: 'west', latest: NOW + 1 },
  { ...POINT, count: 8, latest: NOW },
  { ...POINT, cluster: 'west', latest: NOW },
];
const CASES: [asked: { cluster?: string; now?: number }, urls: string[], why: string][] = [
  [{ cluster: '' }, ['http://a.test/3-of-4'], 'of one cluster'],
  [{ cluster: 'east' }, [], 'of one that has issued none'],
  [{}, ['http://a.test/3-of-4', 'http://b.test/3-of-4/3-of-4'], 'of all, each once'],
  [{ now: NOW + 1 }, ['http://b.test/3-of-4/3-of-4'], 'until they have ended'],
  [{ now: NOW + 2 }, [], 'and not later'],
];
for (const [asked, urls, why] of CASES) {
  test(`the URLs of a shard: ${why}`, () => {
    const shard = { number: 3, count: 4 };
    assert.deepEqual(listShardUrls(LISTED, { shard, name: '3-of-4', now: NOW, ...asked }), urls);
  });
}
