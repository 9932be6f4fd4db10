import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordFrom } from '../../test/support/caller-record.ts';
import { SERVER_MOUNT } from '../access/system-caller.ts';
import { buildBriefRecord, buildRecord } from './record.ts';

const facts = { ...recordFrom(''), route: 'r', operation: 'read', path: 'p' };

function authOf(policies: readonly string[]): Record<string, unknown> {
  const record = facts;
  const token = {
    id: 'aWQ',
    accessor: 'a',
    display_name: 'd',
    entity_id: '',
    policies,
    type: 'service' as const,
  };
  const request = { request_id: 'id', record, mount: SERVER_MOUNT, token };
  return JSON.parse(buildRecord(request as never, 0, { status: 'done' })).auth;
}

const name = (length: number): string => 'p'.repeat(length);

const cases: [why: string, policies: string[], told: number, further: number | undefined][] = [
  ['few', ['a', 'b'], 2, undefined],
  ['none', [], 0, undefined],
  ['as long as may be', [name(2_048), name(2_048)], 2, undefined],
  ['one character more', [name(2_048), name(2_049)], 1, 1],
  ['thousands', Array.from({ length: 8_000 }, (_, at) => `p${at}`.padEnd(8, 'x')), 512, 7_488],
];
for (const [why, policies, told, further] of cases) {
  test(`a record has the first of its token’s policies, and how many more there are: ${why}`, () => {
    const auth = authOf(policies);
    assert.deepEqual(auth.policies, policies.slice(0, told));
    assert.equal(auth.further_policies, further);
  });
}

const told: [why: string, sent: Record<string, unknown>, told: Record<string, unknown>][] = [
  ['little', { paths: ['a'], path: 'b' }, { paths: ['a'], path: 'b' }],
  [
    'as much as one may hold',
    { text: name(16_000), paths: ['a'] },
    { text: name(16_000), paths: ['a'] },
  ],
  ['a long text', { text: name(17_000), short: 'a' }, { text: '…', short: 'a' }],
  [
    'a list of thousands',
    { paths: Array.from({ length: 5_000 }, () => 'abc') },
    { paths: Array.from({ length: 170 }, () => 'abc'), further_paths: 4_830 },
  ],
  [
    'a list whose first item is long',
    { paths: [name(17_000), 'a'] },
    { paths: [], further_paths: 2 },
  ],
  ['an object', { within: { text: name(17_000) } }, { within: '…' }],
];
for (const [why, sent, expected] of told) {
  test(`a record of what had no effect has the beginning of what was sent, that of a change all: ${why}`, () => {
    const record = { ...facts, request: sent };
    const request = { request_id: 'id', record, mount: SERVER_MOUNT };
    const end = { status: 'refused' as const };
    const brief = JSON.parse(buildBriefRecord(request as never, 0, end));
    assert.deepEqual(brief.request.data, expected);
    assert.deepEqual(JSON.parse(buildRecord(request as never, 0, end)).request.data, sent);
  });
}
