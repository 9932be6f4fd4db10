import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isRenewed,
  judgeToken,
  type SealToken,
  type TokenStanding,
  waitForToken,
} from './seal-token.ts';

const tokens: [
  what: string,
  token: SealToken,
  asked: 'renew it' | 'leave it',
  renewed: number | undefined,
  standing: TokenStanding,
][] = [
  ['never ends', { ttl: undefined, usual: 0, renewable: false }, 'leave it', undefined, 'fine'],
  [
    'could be renewed, and never ends',
    { ttl: undefined, usual: 0, renewable: true },
    'leave it',
    undefined,
    'fine',
  ],
  [
    'is renewed to all of its period',
    { ttl: 30, usual: 60, renewable: true },
    'renew it',
    60,
    'fine',
  ],
  [
    'is renewed, and nears a set end',
    { ttl: 30, usual: 60, renewable: true },
    'renew it',
    29,
    'ends',
  ],
  ['is renewed to nothing', { ttl: 1, usual: 0, renewable: true }, 'renew it', 0, 'ends'],
  ['has run out', { ttl: 0, usual: 60, renewable: true }, 'renew it', undefined, 'ends'],
  ['cannot be renewed', { ttl: 30, usual: 60, renewable: false }, 'leave it', undefined, 'ends'],
  [
    'is not renewed when that is asked',
    { ttl: 30, usual: 60, renewable: true },
    'renew it',
    undefined,
    'ends',
  ],
];
for (const [what, token, asked, renewed, standing] of tokens) {
  test(`a token that ${what}: ${standing}`, () => {
    assert.equal(judgeToken(token, renewed), standing);
    assert.equal(isRenewed(token) ? 'renew it' : 'leave it', asked);
  });
}

const waits: [standing: TokenStanding, ttl: number | undefined, seconds: number][] = [
  ['fine', undefined, 3600],
  ['fine', 60, 30],
  ['fine', 1, 1],
  ['fine', 0, 3600],
  ['fine', 2_764_800, 3600],
  ['ends', 7200, 3600],
  ['ends', 31_536_000, 86_400],
  ['unattended', undefined, 3600],
  ['refused', undefined, 600],
  ['unreachable', 80, 10],
  ['unreachable', 2, 1],
  ['unreachable', -5, 60],
  ['unreachable', undefined, 60],
];
for (const [standing, ttl, seconds] of waits) {
  test(`${standing} with ${ttl} seconds left: looked at again in ${seconds}`, () => {
    assert.equal(waitForToken(standing, ttl), seconds * 1_000);
  });
}
