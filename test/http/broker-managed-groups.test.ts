import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SEED_DEFAULTS } from '../../src/config/seed.ts';
import { startTestServer } from '../support/server.ts';

test('managed groups belong to auth methods that have them, and are looked for nowhere else', async (t) => {
  const client = await startTestServer(t, { config: { seed: SEED_DEFAULTS } });
  const group = (auth_method_id: string, attributes = {}) =>
    client.call('POST', 'managed-groups', { auth_method_id, name: 'g', attributes });
  for (const [reply, status, why] of [
    [client.call('GET', 'managed-groups?auth_method_id=amldap_1234567890'), 404, 'list: unknown'],
    [client.call('GET', 'managed-groups?auth_method_id=ampw_1234567890'), 400, 'list: passwords'],
    [client.call('GET', 'managed-groups'), 400, 'list: of nothing'],
    [client.call('GET', 'managed-groups/mgldap_1234567890'), 404, 'read: unknown'],
    [client.call('GET', 'managed-groups/g_1234567890'), 400, 'read: another kind of group'],
    [group('ampw_1234567890'), 400, 'create: passwords'],
    [group('amldap_1234567890'), 400, 'create: no group names'],
    [group('amldap_1234567890', { group_names: ['a'] }), 404, 'create: unknown'],
    [group('amoidc_1234567890', { filter: 'bad expression' }), 400, 'create: bad filter'],
    [group('amoidc_1234567890', { filter: '"/token/sub" == "a"' }), 404, 'create: unknown'],
    [group('amoidc_1234567890', { group_names: ['a'] }), 400, 'create: of the other kind'],
  ] as const) {
    const answer = await reply;
    assert.equal(answer.status, status, `${why}: ${answer.text}`);
  }
  const refused = await group('ampw_1234567890');
  assert.equal(refused.textAt('details.request_fields.0.name'), 'auth_method_id', refused.text);
});
