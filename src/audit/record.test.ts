import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SERVER_MOUNT } from '../access/system-caller.ts';
import { buildRecord } from './record.ts';

function authOf(policies: readonly string[]): Record<string, unknown> {
  const record = {
    route: 'r',
    operation: 'read',
    path: 'p',
    remote_address: '',
    request: {},
    outcome: {},
  };
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
