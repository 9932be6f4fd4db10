import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planRest } from './rest.ts';

for (const [what, durations, rest] of [
  ['nothing is known', {}, 100],
  ['its CRL was quick', { 'm/a': 12 }, 100],
  ['its CRL took longer', { 'm/a': 13 }, 104],
  ['one of its CRLs took long', { 'm/a': 2_000, 'm/b': 1 }, 16_000],
  ['one of its CRLs took very long', { 'm/a': 4_000 }, 30_000],
  ['another mount has a long one', { 'n/a': 4_000, 'm/b': 1 }, 100],
  ['a mount whose ID begins alike has one', { 'm2/a': 4_000 }, 100],
] as const) {
  test(`CRLs of a mount rest ${rest} ms where ${what}`, () => {
    assert.equal(planRest(new Map<string, number>(Object.entries(durations)), 'm'), rest);
  });
}

for (const [waiting, durations, rest] of [
  [1, { 'm/a/shard=0-of-4': 20, 'm/a': 2_000 }, 160],
  [10, { 'm/a/shard=0-of-4': 20, 'm/a': 2_000 }, 1_600],
  [1000, { 'm/a/shard=0-of-4': 20 }, 30_000],
  [1, { 'm/a': 2_000 }, 100],
] as const) {
  test(`a shard rests ${rest} ms where ${waiting} wait, whatever others take`, () => {
    assert.equal(planRest(new Map<string, number>(Object.entries(durations)), 'm', waiting), rest);
  });
}
