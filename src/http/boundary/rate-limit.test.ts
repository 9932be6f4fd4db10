import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RATE_LIMIT_DEFAULTS, type RateLimits } from '../../config/settings.ts';
import { RateLimiter } from './rate-limit.ts';

const limits: RateLimits = {
  disable: false,
  period: 30,
  list: { total: 4, per_ip_address: 3, per_auth_token: 2 },
  other: { total: 40, per_ip_address: 30, per_auth_token: 20 },
};

const asking = (
  change: { endpoint?: string; lists?: boolean; ip?: string; token?: string } = {},
) => ({
  endpoint: change.endpoint ?? 'list-targets',
  lists: change.lists ?? true,
  remote_address: change.ip ?? '10.0.0.1',
  token: change.token ?? 'one',
});

test('a token is refused beyond its quota, and another of the same address is not', () => {
  const limiter = new RateLimiter(limits);
  assert.equal(limiter.take(asking(), 0).allowed, true);
  assert.equal(limiter.take(asking(), 1).allowed, true);
  const refused = limiter.take(asking(), 2000);
  assert.deepEqual(refused, {
    allowed: false,
    retry_after: 28,
    headers: {
      ratelimit: 'limit=2, remaining=0, reset=28',
      'ratelimit-policy':
        '4;w=30;comment="total", 3;w=30;comment="ip-address", 2;w=30;comment="auth-token"',
    },
  });
  assert.equal(limiter.take(asking({ token: 'two' }), 2000).allowed, true);
  assert.equal(limiter.take(asking({ token: 'three' }), 2000).allowed, false, 'the address, too');
  assert.equal(limiter.take(asking({ token: 'three', ip: '10.0.0.2' }), 2000).allowed, true);
  assert.equal(limiter.take(asking({ token: 'four', ip: '10.0.0.3' }), 2000).allowed, false, 'all');
});

test('what was refused is not counted, and the window ends', () => {
  const limiter = new RateLimiter(limits);
  for (let at = 0; at < 10; at++) limiter.take(asking(), at);
  assert.equal(limiter.take(asking(), 29_999).allowed, false);
  const again = limiter.take(asking(), 30_000);
  assert.equal(again.allowed, true);
  assert.equal(again.headers.ratelimit, 'limit=2, remaining=1, reset=30');
});

test('each endpoint counts for itself, and lists have limits of their own', () => {
  const limiter = new RateLimiter(limits);
  for (let at = 0; at < 3; at++) limiter.take(asking(), at);
  assert.equal(limiter.take(asking({ endpoint: 'list-hosts' }), 3).allowed, true);
  const read = asking({ endpoint: 'read-target', lists: false });
  assert.equal(limiter.take(read, 3).headers.ratelimit, 'limit=20, remaining=19, reset=30');
});

test('without a token only the address and the whole count', () => {
  const limiter = new RateLimiter(limits);
  for (let at = 0; at < 3; at++) {
    assert.equal(limiter.take(asking({ token: '' }), at).allowed, true);
  }
  assert.equal(limiter.take(asking({ token: '' }), 4).allowed, false);
});

test('a clock that goes back does not lock anybody out', () => {
  const limiter = new RateLimiter(limits);
  for (let at = 0; at < 3; at++) limiter.take(asking(), 1_000_000 + at);
  assert.equal(limiter.take(asking(), 0).allowed, true);
});

test('whoever comes when no more addresses can be counted draws on the quota for all alone', () => {
  const limiter = new RateLimiter({ ...limits, list: { ...limits.list, total: 8 } }, 2);
  const take = (ip: string, at = 0) => limiter.take(asking({ ip, token: '' }), at).allowed;
  assert.equal(take('a'), true);
  assert.equal(take('b'), true);
  for (let n = 0; n < 4; n++) assert.equal(take('c'), true, 'not counted by its address');
  for (let n = 0; n < 2; n++) assert.equal(take('a'), true, 'who is counted');
  assert.equal(take('c'), false, 'all is used up');
  assert.equal(take('c', 30_001), true);
});

test('a site of many networks does not take the places of others', () => {
  const limiter = new RateLimiter({ ...limits, list: { ...limits.list, total: 100_000 } }, 500);
  const take = (ip: string) => limiter.take(asking({ ip, token: '' }), 0).allowed;
  const network = (n: number) => `2001:db8:7:${n.toString(16)}::1`;
  for (let n = 0; n < 5; n++) assert.equal(take(network(n)), true);
  // Beyond its hundredth of the places its networks are one, with one quota of three.
  const allowed = Array.from({ length: 1000 }, (_, n) => take(network(5 + n))).filter(Boolean);
  assert.equal(allowed.length, 3);
  assert.equal(take(network(0)), true, 'a network that is counted keeps its own');
  for (let n = 0; n < 3; n++) assert.equal(take('198.51.100.7'), true);
  assert.equal(take('198.51.100.7'), false, 'another is counted as ever');
  assert.equal(take('2001:db8:8::1'), true, 'and so is another site');
});

test('when windows have ended, the networks of a site are counted anew', () => {
  const limiter = new RateLimiter({ ...limits, list: { ...limits.list, total: 100_000 } }, 200);
  const take = (n: number, at: number) =>
    limiter.take(asking({ ip: `2001:db8:7:${n.toString(16)}::1`, token: '' }), at).allowed;
  for (let n = 0; n < 300; n++) take(n, 0);
  assert.equal(take(300, 1), false);
  // What has ended is forgotten when there is no room.
  for (let n = 0; n < 198; n++) {
    limiter.take(asking({ ip: `10.0.0.${n}`, token: '' }), 31_000);
  }
  for (let n = 0; n < 3; n++) assert.equal(take(400, 31_001), true);
  assert.equal(take(400, 31_001), false);
});

test('tokens made up in numbers keep nobody out: their address is counted', () => {
  const limiter = new RateLimiter(
    { ...limits, list: { total: 1000, per_ip_address: 10, per_auth_token: 1 } },
    5,
  );
  for (let at = 0; at < 10; at++) {
    assert.equal(limiter.take(asking({ ip: 'a', token: `made-up-${at}` }), at).allowed, true);
  }
  assert.equal(limiter.take(asking({ ip: 'a', token: 'made-up-10' }), 11).allowed, false);
  assert.equal(limiter.take(asking({ ip: 'b', token: 'real' }), 12).allowed, true);
});

const DEFAULTS = RATE_LIMIT_DEFAULTS;

test('a hundredth of what is for all is left to each party, however much the others use', () => {
  const limiter = new RateLimiter({
    ...limits,
    other: { total: 1000, per_ip_address: 1000, per_auth_token: 1000 },
  });
  const take = (ip: string) => limiter.take(asking({ lists: false, ip, token: '' }), 0).allowed;
  for (let at = 0; at < 1000; at++) assert.equal(take('10.0.0.1'), true);
  assert.equal(take('10.0.0.1'), false);
  for (let at = 0; at < 10; at++) assert.equal(take('10.0.0.2'), true);
  assert.equal(take('10.0.0.2'), false, 'it had a hundredth');
  for (let at = 0; at < 300; at++) take(`10.1.${at >> 8}.${at & 255}`);
  const late = Array.from({ length: 20 }, () => take('10.0.0.3')).filter(Boolean);
  assert.equal(late.length, 5, 'less among many, never nothing');
  const site = Array.from({ length: 20 }, (_, n) => take(`2001:db8:1:${n}::1`)).filter(Boolean);
  assert.equal(site.length, 5, 'and a site of IPv6 is one party');
});

test('whatever unauthenticated callers ask for, callers with a good token have all of their own quotas', () => {
  const floods: [string, (take: (change: Parameters<typeof asking>[0]) => boolean) => void][] = [
    [
      'one address',
      (take) => {
        for (let at = 0; at < 1600; at++) take({ token: '' });
      },
    ],
    [
      'fourteen addresses with made-up tokens',
      (take) => {
        for (let at = 0; at < 2000; at++) take({ ip: `10.0.0.${at % 14}`, token: `no-${at}` });
      },
    ],
    [
      'the address of the right ones',
      (take) => {
        for (let at = 0; at < 1600; at++) take({ ip: '10.1.0.0', token: '' });
      },
    ],
  ];
  for (const [name, flood] of floods) {
    const limiter = new RateLimiter(DEFAULTS);
    flood((change) => limiter.take(asking(change), 0).allowed);
    let right = 0;
    for (let at = 0; at < 200; at++) {
      const user = at % 40;
      const request = asking({ ip: `10.1.0.${user % 2}`, token: `t${user}` });
      if (limiter.take({ ...request, known_as: `e${user}` }, 0).allowed) right += 1;
    }
    assert.equal(right, 200, name);
  }
});

test('right log-ins from elsewhere go through whatever fourteen addresses send', () => {
  for (const [lists, flood, each] of [
    [true, 1500, 16],
    [false, 30_000, 300],
  ] as const) {
    const limiter = new RateLimiter(DEFAULTS);
    const take = (ip: string) => limiter.take(asking({ lists, ip, token: '' }), 0).allowed;
    for (let at = 0; at < flood; at++) take('10.0.0.1');
    for (let n = 2; n < 15; n++) for (let at = 0; at < each; at++) take(`10.0.0.${n}`);
    assert.equal(take('10.0.0.1'), false, 'who has used it up');
    for (let n = 0; n < 40; n++) assert.equal(take(`10.9.9.${n}`), true);
  }
});

test('one of those with a good token who uses everything up leaves the others their share', () => {
  const limiter = new RateLimiter(DEFAULTS);
  const take = (known_as: string, n: number, ip: string) =>
    limiter.take({ ...asking({ ip, token: `${known_as}-${n % 20}` }), known_as }, 0).allowed;
  for (let n = 0; n < 2000; n++) take('greedy', n, '10.0.0.1');
  assert.equal(take('greedy', 0, '10.0.0.2'), false, 'with whatever token from wherever');
  for (let n = 0; n < 15; n++) assert.equal(take('modest', n, '10.0.0.3'), true);
  assert.equal(take('modest', 15, '10.0.0.3'), false);
});

test('many unauthenticated callers do not take the places in which known callers are counted', () => {
  const limiter = new RateLimiter({ ...limits, list: { ...limits.list, total: 1000 } }, 2);
  for (const ip of ['a', 'b', 'c']) limiter.take(asking({ ip }), 0);
  for (let n = 0; n < 4; n++) limiter.take(asking({ ip: 'd' }), 0);
  const known = () => limiter.take({ ...asking({ ip: 'd', token: '' }), known_as: 'e' }, 0).allowed;
  for (let n = 0; n < 3; n++) assert.equal(known(), true);
  assert.equal(known(), false, 'counted by its address');
});

test('a network of IPv6 counts as one address', () => {
  const limiter = new RateLimiter(limits);
  const take = (ip: string) => limiter.take(asking({ ip, token: '' }), 0).allowed;
  for (let at = 0; at < 3; at++) assert.equal(take(`2001:db8::${at}`), true);
  assert.equal(take('2001:db8::9'), false);
  assert.equal(take('2001:db8:0:1::1'), true);
});

test('a site whose networks are forgotten for others has as many places as ever afterwards', () => {
  const limiter = new RateLimiter({ ...limits, list: { ...limits.list, total: 100_000 } }, 200);
  const take = (site: number, n: number, at: number) =>
    limiter.take(asking({ ip: `2001:db8:${site}:${n.toString(16)}::1`, token: '' }), at).allowed;
  // All places are taken, one of them by a site that comes again when all of them have ended.
  for (let site = 1; site <= 200; site++) take(site, 0, 0);
  assert.equal(take(7, 0xa, 31_000), true, 'forgets what has ended, its own, too');
  assert.equal(take(7, 0xb, 31_000), true);
  for (let n = 0xc; n < 0xf; n++) assert.equal(take(7, n, 31_000), true, 'the rest is one');
  assert.equal(take(7, 0xf, 31_000), false);
  for (let n = 0; n < 3; n++) assert.equal(take(7, 0xb, 31_000), n < 2, 'a network of its own');
});
