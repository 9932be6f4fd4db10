/** What is kept of what users of the broker are allowed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAuthority } from '../../src/broker/authority/operations.ts';
import { makeProject, repair } from '../support/broker.ts';
import { heapUsed } from '../support/heap.ts';
import { startTestServer } from '../support/server.ts';

/** As long as the grants of a role may be: ids of single targets, of which there need be none. */
const longGrants = (): string[] =>
  Array.from({ length: 32 }, (_, at) => {
    const ids = Array.from(
      { length: 480 },
      (_, place) => `ttcp_${String(at * 480 + place).padStart(10, '0')}`,
    );
    return `ids=${ids.join(',')};actions=read,authorize-session`;
  });

test('one role with long grants that everybody has takes no more memory than there is for grants', async (t) => {
  const server = await startTestServer(t);
  const scope_id = (await makeProject(server)).id;
  const role = (await repair(server, 'roles', { scope_id })).textAt('id');
  const principals = { version: 1, principal_ids: ['u_auth'] };
  await repair(server, `roles/${role}:add-principals`, principals);
  await repair(server, `roles/${role}:set-grants`, { version: 2, grant_strings: longGrants() });
  await repair(server, `roles/${role}:set-grant-scopes`, { version: 3, grant_scope_ids: ['this'] });

  const { app } = server.running;
  const place = { type: 'target', scope_id, parent_scope_id: '' } as const;
  const before = heapUsed();
  for (let user = 0; user < 60; user++) {
    const authority = await readAuthority(app, { user_id: `u_${user}`, account_id: '' });
    const seen = authority.describeVisibility(place, ['authorize-session']).ids;
    assert.ok(seen.reduce((sum, { size }) => sum + size, 0) >= 32 * 480);
    authority.fingerprint('target');
  }
  // Each of them takes some 4 MiB.
  const grown = heapUsed() - before;
  assert.ok(grown < 100 << 20, `${grown >> 20} MiB more`);
});
