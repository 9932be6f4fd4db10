import { MOST_COMPARISONS } from './comparisons.ts';
// A field is read item by item as it is read at once, and what takes long is paid for and done in steps.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeParameters } from '../../test/support/judge-parameters.ts';
import { blockList, policyList } from '../access/tokens/field-kinds.ts';
import { duration, list, text } from '../core/fields.ts';
import {
  addressList,
  domainList,
  keyUsageList,
  namesText,
  otherSanList,
  rangeList,
} from '../pki/fields/field-kinds.ts';
import { policyIdentifierList } from '../pki/roles/policy-identifiers.ts';
import { roleFields } from '../pki/roles/role.ts';
import { settingList } from '../system/mounts/field-kinds.ts';
import { readerOfFields } from './parameter-reader.ts';
import { Stride } from './stride.ts';

const reader = readerOfFields({
  list: list([]),
  text: text(''),
  ttl: duration(0),
  ranges: rangeList([]),
  addresses: addressList([]),
  other: otherSanList([]),
  domains: domainList([]),
  names: namesText(''),
  usage: keyUsageList([]),
  policies: policyIdentifierList([]),
  blocks: blockList([]),
  policy_names: policyList([]),
  settings: settingList([]),
  cn_validations: roleFields.cn_validations,
});

/** Steps that reading takes, what it comes to, and what is left. */
function walk(name: string, value: unknown, left = MOST_COMPARISONS) {
  const budget = { left };
  const steps = reader.walk(name, value, new Stride(budget));
  for (let count = 0; ; count += 1) {
    const step = steps.next();
    if (step.done) return { read: step.value, count, left: budget.left };
  }
}

const READ: [name: string, value: unknown, read: unknown][] = [
  ['list', ' a, b', ['a', 'b']],
  ['list', { a: 1 }, undefined],
  ['text', 'a, b', 'a, b'],
  ['ttl', '1h', 3600],
  ['unknown', 'a', undefined],
  ['ranges', ['10.1.2.3/8', '2001:DB8::1/32', '10.0.0.0/33', '10.0.0.0', 'x'], ['10.0.0.0/8', '2001:db8::/32', '10.0.0.0/33', '10.0.0.0', 'x']],
  ['ranges', '::ffff:1.2.3.4/104,1.2.3.4/32', ['::ffff:1.0.0.0/104', '1.2.3.4/32']],
  ['addresses', ['0:0::1', '::FFFF:1.2.3.4', '1.2.3.04'], ['::1', '1.2.3.4', '1.2.3.04']],
  ['other', ['1.2.3; utf-8 :x', '1.2.3;UTF8:x', '1.2.3;ia5:x'], ['1.2.3;UTF8:x', '1.2.3;UTF8:x', '1.2.3;ia5:x']],
  ['domains', ['BÜCHER.example', 'A.test'], ['xn--bcher-kva.example', 'a.test']],
  ['names', 'a.test,bücher.example', ['a.test', 'xn--bcher-kva.example']],
  ['usage', ['keyagreement', '', 'DigitalSignature', 'KeyAgreement'], ['DigitalSignature', 'KeyAgreement']],
  ['policies', ['1.2.3', '{"cps":"https://a.test","oid":"1.2.3"}', '{"oid":"1.2.4"}', 'x'], ['1.2.3', '{"oid":"1.2.3","cps":"https://a.test"}', '1.2.4', 'x']],
  ['blocks', ['10.1.2.3/8', '::ffff:10.0.0.0/104', '10.0.0.1', 'x'], ['10.0.0.0/8', '10.0.0.0/8', '10.0.0.1/32', 'x']],
  ['policy_names', ['B', ' a', 'b', ''], ['a', 'b']],
  ['cn_validations', [], ['email', 'hostname']],
  ['cn_validations', ['Email'], ['email']],
  ['cn_validations', ['hostname', 'EMAIL', 'email'], ['email', 'hostname']],
]; // biome-ignore format: one table

for (const [name, value, read] of READ) {
  test(`${name} ${JSON.stringify(value)} comes to the same, read at once or in steps`, () => {
    assert.deepEqual(reader.read(name, value), read);
    assert.deepEqual(walk(name, value).read, read);
  });
}

const times = (count: number, make: (at: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => make(at));
const range = (at: number): string => `1:${at.toString(16)}:2:3:4:5:6:7/128`;

test('what takes long to read is done in as many steps as it takes, and not done beyond what is left', () => {
  const long = times(9_000, range);
  const { count, left } = walk('ranges', long);
  assert.ok(count > 500 && MOST_COMPARISONS - left > 150_000, `${count} ${left}`);
  assert.ok(walk('ranges', long.slice(0, 9)).count < 4);
  assert.deepEqual(walk('ranges', long, 100_000).read, undefined);
  // Names in ASCII are nearly as they are.
  assert.ok(
    walk(
      'domains',
      times(9_000, (at) => `n${at}.test`),
    ).count < 200,
  );
  assert.ok(
    walk(
      'domains',
      times(500, (at) => `ü${at}.test`),
    ).count >= 500,
  );
});

const JUDGED: [count: number, last: string, because: string | undefined][] = [
  [1, '11.0.0.0/8', undefined],
  [3_000, '11.0.0.0/8', undefined],
  [3_000, '10.1.2.3/8', 'parameter "ranges" is denied'],
  [3_000, '::ffff:10.0.0.0/104', 'parameter "ranges" is denied'],
  [3_000, '::ffff:11.0.0.0/104', undefined],
  [9_999, '11.0.0.0/8', undefined],
  [9_999, '10.0.0.1/8', 'parameter "ranges" is denied'],
];
for (const [count, last, because] of JUDGED) {
  test(`the last of ${count} ranges, ${last}: ${because ?? 'passes'}`, () => {
    const rules = {
      allowed_parameters: new Map(),
      denied_parameters: new Map([['ranges', ['10.0.0.0/8']]]),
      required_parameters: [],
    };
    const ranges = [...times(count - 1, range), last];
    assert.equal(judgeParameters(rules, { ranges }, reader), because);
  });
}

test('lists that take too long together are refused with words, and some thousands in each are not', () => {
  const names = ['ranges', 'permitted', 'excluded'];
  const three = readerOfFields(Object.fromEntries(names.map((name) => [name, rangeList([])])));
  const rules = {
    allowed_parameters: new Map(),
    denied_parameters: new Map(names.map((name) => [name, ['10.0.0.0/8']])),
    required_parameters: [],
  };
  const judge = (count: number) => {
    const fields = Object.fromEntries(names.map((name) => [name, times(count, range)]));
    return judgeParameters(rules, fields, three);
  };
  assert.equal(judge(4_000), undefined);
  assert.ok(judge(9_999));
});
