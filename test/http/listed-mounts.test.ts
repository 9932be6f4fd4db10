import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { EMPTY_CONFIG } from '../../src/mounts/rules.ts';
import { insertMount } from '../../src/mounts/store.ts';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { listVisibleMounts } from '../../src/system/mounts/listing.operations.ts';
import { tuneMount } from '../../src/system/mounts/operations.ts';
import { openTestApp, requireTestMount, testCaller } from '../support/app.ts';
import { eachEngine } from '../support/engines.ts';
import { must } from '../support/racing.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
const PATH = 'sys/internal/ui/mounts';
const options = { n: `"{}\n'é\u2028${'x'.repeat(60_000)}` };

test('whoever has no token sees what is listed for everybody, as it is written for a token', async () => {
  const unauth = { config: { listing_visibility: 'unauth' } };
  await must(call('POST', 'sys/mounts/team', { type: 'pki', options, ...unauth }));
  await must(call('POST', 'sys/mounts/own', { type: 'pki', options }));
  await must(
    call('POST', 'sys/auth/up', { type: 'userpass', description: 'for "all"', ...unauth }),
  );
  await must(
    call('PUT', 'sys/policies/acl/none', { policy: 'path "nowhere" { capabilities = ["read"] }' }),
  );
  const none = { policies: ['none'], no_default_policy: true };
  const token = (await must(call('POST', 'auth/token/create', none))).textAt('auth.client_token');
  const [nobody, again, somebody] = [
    await must(call('GET', PATH, undefined, { token: '' })),
    await must(call('GET', PATH, undefined, { token: '' })),
    await must(call('GET', PATH, undefined, { token })),
  ];
  assert.deepEqual(nobody.field('data'), {
    secret: { 'team/': { type: 'pki', description: '', options } },
    auth: { 'up/': { type: 'userpass', description: 'for "all"', options: null } },
  });
  assert.deepEqual(somebody.field('data'), nobody.field('data'));
  assert.deepEqual(Object.keys(JSON.parse(nobody.text)), Object.keys(JSON.parse(somebody.text)));
  assert.equal(nobody.headers.get('content-type'), somebody.headers.get('content-type'));
  assert.notEqual(nobody.field('request_id'), again.field('request_id'));
});

test('what everybody sees is another one as soon as a mount is', async () => {
  const list = async () => {
    const reply = await must(call('GET', PATH, undefined, { token: '' }));
    return Object.keys(reply.field('data.secret') as object);
  };
  assert.deepEqual(await list(), ['team/']);
  await must(call('POST', 'sys/mounts/own/tune', { listing_visibility: 'unauth' }));
  assert.deepEqual(await list(), ['own/', 'team/']);
  await must(call('DELETE', 'sys/mounts/team'));
  assert.deepEqual(await list(), ['own/']);
  await must(call('POST', 'sys/mounts/own/tune', { listing_visibility: 'hidden' }));
  assert.deepEqual(await list(), []);
});

eachEngine('what everybody sees of the mounts', (open) => {
  test('is written once until mounts change, whatever else is configured', async () => {
    const store = await open();
    const { app } = await openTestApp(store);
    const made = {
      ...{ id: 'one', kind: 'secret' as const, path: 'one/', type: 'pki', accessor: 'one' },
      ...{ description: '', local: false, seal_wrap: false, external_entropy_access: false },
      ...{ options: null, config: { ...EMPTY_CONFIG, listing_visibility: 'unauth' as const } },
    };
    await store.commit([insertMount(made), bumpConfigVersion()]);
    const caller = testCaller(await requireTestMount(app, 'sys/'));
    const list = async () => {
      const listed = await listVisibleMounts(app, caller);
      return 'written_data' in listed ? listed.written_data : undefined;
    };
    const first = await list();
    assert.match(String(first), /"one\/"/);
    assert.equal(await list(), first);
    await store.commit([bumpConfigVersion()]);
    assert.equal(await list(), first);
    await tuneMount(app, caller, { kind: 'secret', path: 'one', description: 'new', config: {} });
    assert.match(String(await list()), /"description":"new"/);
  });
});
