import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { copyRow, numbered } from '../support/many-rows.ts';
import { must } from '../support/racing.ts';
import { type Reply, startTestServer } from '../support/server.ts';

/** Who may change some mounts takes no more than a share of the room of all, and operators can always work. */

const client = await startTestServer({ after });
const { call, running } = client;

const LARGE = { options: { n: 'x'.repeat(65_000) } };
const pki = { type: 'pki' };

const refused = (reply: Reply, why: RegExp): void => {
  assert.equal(reply.status, 400, reply.text.slice(0, 300));
  assert.match(reply.text, why);
};

async function tokenFor(name: string, policy: string): Promise<string> {
  await must(call('PUT', `sys/policies/acl/${name}`, { policy }));
  return (await must(call('POST', 'auth/token/create', { policies: [name] }))).textAt(
    'auth.client_token',
  );
}

const may = (path: string, ...more: string[]): string =>
  `path "${path}" { capabilities = ${JSON.stringify(['create', 'update', 'delete', ...more])} }`;

const by = (token: string) => (path: string, body: object) =>
  call('POST', `sys/${path}`, body, { token });
type Ask = ReturnType<typeof by>;
const asks: Record<'tenant' | 'near' | 'operator', Ask> = {
  tenant: by(''),
  near: by(''),
  operator: by(''),
};

before(async () => {
  asks.tenant = by(await tokenFor('tenant', may('sys/mounts/team/*', 'sudo')));
  asks.near = by(await tokenFor('near', may('sys/mounts/*')));
  asks.operator = by(await tokenFor('operator', may('sys/mounts/*', 'sudo')));
});

const copyMount = (path: string, copies: number): Promise<void> =>
  copyRow(running.app.store, 'mount', {
    of: { kind: 'secret', path },
    copies,
    changes: { id: numbered('id'), path: numbered('path'), accessor: numbered('accessor') },
  });

test('one mount has at most 64 KiB of lists, options and description together', async () => {
  const { tenant } = asks;
  await must(tenant('mounts/team/one', pki));
  const list = Array.from({ length: 60 }, (_, at) => `${at}`.padEnd(1000, 'x'));
  await must(tenant('mounts/team/one/tune', { audit_non_hmac_request_keys: list }));
  const why = /the mount would have \d+ bytes, and may have at most 65536/;
  for (const more of [{ allowed_response_headers: list }, LARGE]) {
    refused(await tenant('mounts/team/one/tune', more), why);
    refused(
      await tenant('mounts/team/two', {
        ...pki,
        config: { audit_non_hmac_request_keys: list },
        ...LARGE,
      }),
      why,
    );
  }
  await must(tenant('mounts/team/one/tune', { audit_non_hmac_request_keys: [] }));
});

test('a share of the bytes is for operators, and little is needed by nobody', async () => {
  const { tenant, near, operator } = asks;
  await must(tenant('mounts/team/full', { ...pki, ...LARGE }));
  await copyMount('team/full/', 47);
  const why = /may have at most 3145728 without sudo on sys\/mounts\/\*/;
  refused(await tenant('mounts/team/more', { ...pki, ...LARGE }), why);
  refused(await near('mounts/more', { ...pki, ...LARGE }), why);
  refused(await tenant('mounts/team/one/tune', LARGE), why);
  await must(operator('mounts/more', { ...pki, ...LARGE }));
  await must(operator('mounts/team/one/tune', LARGE));
  await copyMount('more/', 14);
  refused(await operator('mounts/other', { ...pki, ...LARGE }), /may have at most 4194304: /);
  for (const ask of [tenant, operator]) {
    await must(ask('mounts/team/full/tune', { max_lease_ttl: '1h', default_lease_ttl: '30m' }));
    await must(ask('mounts/team/small/tune', { description: 'a word' }).then(orMade(ask)));
    await must(ask('mounts/team/full/tune', { options: { n: 'y'.repeat(65_000) } }));
  }
});

/** What is not there yet is made first. */
const orMade =
  (ask: Ask) =>
  async (reply: Reply): Promise<Reply> => {
    if (reply.status < 300) return reply;
    await must(ask('mounts/team/small', pki));
    return ask('mounts/team/small/tune', { description: 'a word' });
  };

test('a share of the places is for operators', async () => {
  const { tenant, near, operator } = asks;
  const { data } = JSON.parse((await must(call('GET', 'sys/mounts'))).text);
  await copyMount('team/small/', 3750 - Object.keys(data).length);
  const why = /there are 3750 secrets engines, and may be at most 3750 without sudo/;
  refused(await tenant('mounts/team/last', pki), why);
  refused(await near('mounts/last', pki), why);
  await must(operator('mounts/last', pki));
});
