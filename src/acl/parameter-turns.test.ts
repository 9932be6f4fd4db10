// Judging by conditions gives way as all judging does, however many such requests come at once: at their
// path, at paths of their own, and by what they bring.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { compiledAcl } from '../../test/support/judged.ts';
import { holdsNobodyUp } from '../../test/support/turns.ts';
import { list } from '../core/fields.ts';
import type { AccessRequest } from './access-request.ts';
import { judgeAccess, judgeBrought } from './acl.ts';
import { MOST_COMPARISONS } from './comparisons.ts';
import { OwnJudge } from './own-judge.ts';
import { readerOfFields } from './parameter-reader.ts';
import { parsePolicy } from './policy-reader.ts';
import { ALLOWED, TOO_MUCH } from './verdict.ts';

const times = <Of>(count: number, make: (at: number) => Of): Of[] =>
  Array.from({ length: count }, (_, at) => make(at));
const names = times(10, (nth) => `f${nth}`);
const reader = readerOfFields(Object.fromEntries(names.slice(5).map((name) => [name, list([])])));
const item = (at: number): string => (46_656 + at).toString(36).slice(-3);
const items = times(9_999, item).join();

const rules = (values: string): string => names.map((name) => `"${name}" = [${values}]`).join(' ');
const denying = (values: string): string => `denied_parameters = { ${rules(values)} }`;
const allowing = (values: string): string => `allowed_parameters = { ${rules(values)} }`;

const requestOf = (): AccessRequest => ({
  path: 'a',
  operation: 'update',
  sudoRequired: false,
  parameters: Object.fromEntries(names.map((name) => [name, items])),
  reader,
  budget: { left: MOST_COMPARISONS },
});

const ends = times(9, (at) => `"*${'-'.repeat(at + 1)}"`).join();
const CASES: [what: string, conditions: string, isJudged: boolean][] = [
  ['a word that is denied', denying('"-"'), true],
  ['addresses that are denied', denying('"1.2.3.4", "aa:bb"'), false],
  ['ends that are denied', denying(ends), false],
  ['pieces that are allowed', allowing('"-*", "**"'), true],
];

const JUDGES: [where: string, judge: (acl: ReturnType<typeof compiledAcl>, request: AccessRequest) => unknown][] = [
  ['at its path', (acl, request) => judgeAccess(acl, request)],
  ['by what it brings', (acl, request) => judgeBrought(acl, request)],
  ['at a path of its own', (acl, request) => new OwnJudge(request).judge(acl, [{ path: 'a', alike: names }])],
  ['at a path that its own is a part of', (acl, request) => new OwnJudge(request).judge(acl, [{ path: 'a', part: names }])],
]; // biome-ignore format: one a line

for (const [what, conditions, isJudged] of CASES) {
  for (const [where, judge] of JUDGES) {
    test(`${what}: twenty requests of ten long texts are judged ${where} in short turns`, async () => {
      const stanza = `path "a" { capabilities = ["update"] ${conditions} }`;
      const acl = compiledAcl([parsePolicy(stanza)], 0);
      // Each comes in a turn of its own, as requests do.
      const ask = async (nth: number): Promise<unknown> => {
        for (let turn = 0; turn < nth; turn++) await setImmediate();
        return judge(acl, requestOf());
      };
      await holdsNobodyUp(async () => {
        const verdicts = await Promise.all(times(20, ask));
        for (const verdict of verdicts) assert.deepEqual(verdict, isJudged ? ALLOWED : TOO_MUCH);
      });
    });
  }
}
