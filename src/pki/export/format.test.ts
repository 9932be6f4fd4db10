import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CSV } from './format.ts';

const FACTS = {
  serial: '01:02',
  issuer_id: 'i',
  role: 'r',
  not_before: 0,
  not_after: 0,
  revoked_at_ms: null,
  der: Uint8Array.of(1),
};
const nameIn = (subject_cn: string): string =>
  CSV.line({ ...FACTS, subject_cn })
    .slice('01:02,'.length)
    .split(',i,r,')[0] ?? '';

const RUN: readonly [text: string, cell: string][] = [
  ['=1', "'=1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@a', "'@a"],
  ['#a', "'#a"],
  [' =1', "' =1"],
  ['\u00a0@a', "'\u00a0@a"],
  ['\n=1', '"\'\n=1"'],
  ['\ta', "'\ta"],
  ['\uff1d1', "'\uff1d1"],
  ['\uff20a', "'\uff20a"],
];
for (const [text, cell] of RUN) {
  test(`a spreadsheet takes ${JSON.stringify(text)} for text`, () => {
    assert.equal(nameIn(text), cell);
  });
}

test('other names stand as they are, with quotes where a cell needs them', () => {
  for (const name of ['a.example.com', '*.a.test', ' a', 'a=1', '\u540d']) {
    assert.equal(nameIn(name), name);
  }
  assert.equal(nameIn('a,"b"'), '"a,""b"""');
  assert.equal(nameIn('a\nb'), '"a\nb"');
});
