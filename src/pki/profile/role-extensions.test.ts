import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planRoleExtensions } from './role-extensions.ts';

const RULES = {
  must_staple: false,
  allowed_sids: ['S-1-5-21-1-2-3-*', 'S-1-5-18-0'],
  allowed_extensions: ['1.3.6.1.4.1.99999.1', '1.3.6.1.4.1.311.20.2'],
};
const SID = 'S-1-5-21-1-2-3-1000';
const plan = (request: { sid?: string; extensions?: string[] }, rules: object = {}) =>
  planRoleExtensions({ ...RULES, ...rules }, { sid: '', extensions: [], ...request });

test('without anything asked for there is nothing', () => {
  assert.deepEqual(plan({}), []);
});

test('must_staple is in every certificate of the role', () => {
  const [staple, ...rest] = plan({}, { must_staple: true });
  assert.deepEqual(rest, []);
  assert.equal(staple?.oid, '1.3.6.1.5.5.7.1.24');
  assert.equal(staple?.critical, false);
  assert.equal(Buffer.from(staple?.value ?? []).toString('hex'), '3003020105');
});

test('a security identifier stands in an other name, as Windows reads it', () => {
  const [found] = plan({ sid: SID });
  assert.equal(found?.oid, '1.3.6.1.4.1.311.25.2');
  const hex = Buffer.from(found?.value ?? []).toString('hex');
  const text = Buffer.from(SID).toString('hex');
  assert.equal(hex, `3025a023060a2b060104018237190201a0150413${text}`);
});

const refused: [what: string, request: Parameters<typeof plan>[0], says: RegExp][] = [
  ['another account', { sid: 'S-1-5-21-1-2-4-1000' }, /not allowed by this role/],
  ['no identifier', { sid: 'S-1-5-21-1-2-3-x' }, /is no security identifier/],
  ['a longer identifier', { sid: `${SID}-${'1-'.repeat(20)}1` }, /is no security identifier/],
  ['another kind', { extensions: ['1.2.3.5;UTF8:a'] }, /extension 1\.2\.3\.5 not allowed/],
  [
    'a kind twice',
    { extensions: ['1.3.6.1.4.1.99999.1;UTF8:a', '1.3.6.1.4.1.99999.1;UTF8:b'] },
    /comes twice/,
  ],
  ['names', { extensions: ['2.5.29.17;UTF8:a'] }, /no extension of the kind 2\.5\.29\.17/],
  [
    'a SID by its kind',
    { extensions: ['1.3.6.1.4.1.311.25.2;UTF8:a'] },
    /no extension of the kind/,
  ],
  ['no form', { extensions: ['1.3.6.1.4.1.99999.1'] }, /expected "<oid>;UTF8:<text>"/],
  ['no base64', { extensions: ['1.3.6.1.4.1.99999.1;DER:x'] }, /no base64 of one DER value/],
  ['no DER', { extensions: ['1.3.6.1.4.1.99999.1;DER:MAUC'] }, /no base64 of one DER value/],
  [
    'two values',
    { extensions: ['1.3.6.1.4.1.99999.1;DER:BQAFAA=='] },
    /no base64 of one DER value/,
  ],
  ['a long value', { extensions: [`1.3.6.1.4.1.99999.1;UTF8:${'a'.repeat(4096)}`] }, /too long/],
  ['very many', { extensions: Array.from({ length: 17 }, () => '1.2.3;UTF8:a') }, /at most 16/],
];
for (const [what, request, says] of refused) {
  test(`an extension is refused: ${what}`, () => {
    assert.throws(() => plan(request), says);
  });
}

test('free extensions have the value of the request, and are never critical', () => {
  const written = ['1.3.6.1.4.1.99999.1;utf8:a;b:c', '1.3.6.1.4.1.311.20.2;DER:BQA='];
  const planned = plan({ extensions: written });
  assert.deepEqual(
    planned.map(({ oid, critical, value }) => [oid, critical, Buffer.from(value).toString('hex')]),
    [
      ['1.3.6.1.4.1.99999.1', false, `0c05${Buffer.from('a;b:c').toString('hex')}`],
      ['1.3.6.1.4.1.311.20.2', false, '0500'],
    ],
  );
});
