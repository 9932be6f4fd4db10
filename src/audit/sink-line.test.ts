import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChainHead, chainRecord, chainStart } from '../core/record-chain.ts';
import { encodeOmittedLine, encodeSinkLine, judgeSinkLine, parseSinkLine } from './sink-line.ts';

const RECORDS = ['{"n":1,"2":"b","1":"a"}', '{"n":"drei \\n \\" ü \u2028"}', '{"n":{"deep":[]}}'];

function linesOf(node: string, records = RECORDS): string[] {
  let head = chainStart(node);
  return records.map((record) => {
    const prev_hash = head.hash;
    head = chainRecord(head, record);
    return encodeSinkLine({ node, seq: head.seq, record, prev_hash, hash: head.hash });
  });
}

function verify(lines: readonly string[]): string[] {
  const heads = new Map<string, ChainHead>();
  return lines.flatMap((text) => {
    const verdict = judgeSinkLine(heads, text);
    if (verdict.found === 'next') heads.set(verdict.line.node, verdict.line);
    return verdict.found === 'broken' ? [verdict.because] : [];
  });
}

test('a line is JSON, and reads back byte for byte', () => {
  for (const node of ['local', 'a "b" \\ ü']) {
    for (const [index, text] of linesOf(node).entries()) {
      const line = parseSinkLine(text);
      assert.ok(line);
      assert.equal(line.node, node);
      assert.equal(line.seq, index + 1);
      assert.equal(line.record, RECORDS[index]);
      assert.equal(encodeSinkLine(line), text);
      assert.deepEqual(JSON.parse(text).record, JSON.parse(line.record));
    }
  }
});

const [first = '', second = '', third = ''] = linesOf('a');
const good: [why: string, lines: string[]][] = [
  ['a chain as it was written', [first, second, third]],
  ['a file that begins after a rotation', [second, third]],
  ['records that came a second time', [first, second, first, second, third]],
  ['two nodes in one stream', [first, ...linesOf('b'), second]],
];
for (const [why, lines] of good) {
  test(`intact: ${why}`, () => assert.deepEqual(verify(lines), []));
}

const noise: [why: string, line: string][] = [
  ['a torn line', second.slice(0, 150)],
  ['a line of another program', 'hello'],
  ['an empty line', ''],
];
for (const [why, line] of noise) {
  test(`${why} is no record, and does no harm`, () => {
    assert.equal(judgeSinkLine(new Map(), line).found, 'no_record');
    assert.deepEqual(verify([first, line, second]), []);
    assert.match(verify([first, line, third])[0] ?? '', /record 2 is missing/);
  });
}

const bad: [why: string, lines: string[], says: RegExp][] = [
  ['a record left out', [first, third], /record 2 is missing/],
  ['a changed record', [first, second.replace('drei', 'vier')], /record 2 was changed/],
  ['a changed record at the start', [second.replace('drei', 'vier')], /record 2 was changed/],
  [
    'a first record that does not begin its chain',
    [linesOf('b')[0] ?? ''].map((l) => l.replace('"b"', '"a"')),
    /does not follow/,
  ],
  [
    'a repetition that was changed',
    [first, second, first.replace('"a"}', '"c"}')],
    /record 1 was changed/,
  ],
  [
    'another chain under the same number',
    [first, linesOf('a', ['{"n":7}'])[0] ?? ''],
    /came before with other content/,
  ],
];
for (const [why, lines, says] of bad) {
  test(`not intact: ${why}`, () => {
    const [because = '', ...others] = verify(lines);
    assert.match(because, says);
    assert.deepEqual(others, []);
  });
}

test('the stand-in for a record that is too large is JSON and no record', () => {
  const line = parseSinkLine(second);
  assert.ok(line);
  const omitted = encodeOmittedLine(line);
  assert.equal(JSON.parse(omitted).omitted_bytes, Buffer.byteLength(line.record));
  assert.equal(parseSinkLine(omitted), undefined);
});
