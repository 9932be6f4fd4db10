import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import { cpuUntil } from '../support/cpu-time.ts';
import { holdBounds } from '../support/machine.ts';
import { copyRow, numbered } from '../support/many-rows.ts';
import { must } from '../support/racing.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';
import { holdsNobodyUp, LONGEST_TURN, longestTurn } from '../support/turns.ts';

/** There are as many mounts as may be: they are made, listed and looked up, and are in nobody's way. */

const client = await startTestServer({ after });
const { call } = client;

const MOST = 5000;
const MOST_BYTES = 4 << 20;
const LARGEST = { options: Object.fromEntries([['n', 'x'.repeat(65_000)]]) };

/** Copies a mount of one of a kind. */
async function copyMount(
  { running }: Pick<Client, 'running'>,
  kind: string,
  path: string,
  copies: number,
): Promise<void> {
  await copyRow(running.app.store, 'mount', {
    of: { kind, path },
    copies,
    changes: { id: numbered('id'), path: numbered('path'), accessor: numbered('accessor') },
  });
}

const refused = (reply: Reply, why: RegExp): void => {
  assert.equal(reply.status, 400, reply.text.slice(0, 300));
  assert.match(reply.text, why);
};

async function ask(method: string, path: string, body?: object, token?: string): Promise<Reply> {
  let reply: Reply | undefined;
  await holdsNobodyUp(
    async () => {
      reply = await call(method, path, body, token === undefined ? {} : { token });
    },
    { what: `${method} ${path}`, attempts: 1 },
  );
  assert.ok(reply);
  return reply;
}

const countOf = async (path: string): Promise<number> =>
  Object.keys((await must(call('GET', path))).field('data') as object).length;

before(async () => {
  await must(call('POST', 'sys/mounts/team', { type: 'pki' }));
  await must(call('POST', 'sys/auth/up', { type: 'userpass' }));
  await copyMount(client, 'secret', 'team/', MOST - (await countOf('sys/mounts')) - 1);
  await copyMount(client, 'auth', 'up/', MOST - (await countOf('sys/auth')) - 1);
});

for (const [kind, at, why] of [
  ['secret', 'sys/mounts', /there are 5000 secrets engines, and may be at most 5000/],
  ['auth', 'sys/auth', /there are 5000 auth methods, and may be at most 5000/],
] as const) {
  const type = kind === 'auth' ? 'userpass' : 'pki';
  test(`there are at most five thousand mounts of kind ${kind}, and one more when one is removed`, async () => {
    await must(ask('POST', `${at}/last`, { type }));
    refused(await ask('POST', `${at}/more`, { type }), why);
    await must(ask('POST', `${at}/last/tune`, { description: 'x' }));
    await must(ask('DELETE', `${at}/last`));
    await must(ask('POST', `${at}/more`, { type }));
    refused(await ask('POST', `${at}/last`, { type }), why);
  });
}

test('all of them are listed, described and counted without holding anybody up', async () => {
  for (const path of ['sys/mounts', 'sys/auth']) {
    const data = (await must(ask('GET', path))).field('data') as object;
    assert.equal(Object.keys(data).length, MOST);
  }
  const seen = await must(ask('GET', 'sys/internal/ui/mounts'));
  assert.equal(Object.keys(seen.field('data.secret') as object).length, MOST);
  assert.equal((await ask('GET', 'sys/internal/ui/mounts', undefined, '')).status, 200);
  assert.equal((await ask('GET', 'sys/internal/ui/mounts/team/x')).status, 200);
  assert.equal((await ask('GET', 'sys/metrics?format=prometheus')).status, 200);
  const described = await must(ask('GET', 'sys/internal/specs/openapi'));
  const paths = Object.keys(described.field('paths') as object);
  assert.ok(paths.includes('/{pki_mount_path}/issue/{role}'));
  assert.ok(!paths.some((path) => path.startsWith('/team/')));
});

test('a path within another, or around it, is in use also among many', async () => {
  await must(ask('DELETE', 'sys/mounts/more'));
  for (const path of ['team', 'team/x', 'team/x/y']) {
    refused(await ask('POST', `sys/mounts/${path}`, { type: 'pki' }), /in use at team\//);
  }
  await must(ask('POST', 'sys/remount', { from: 'team', to: 'a/team' }));
  refused(await ask('POST', 'sys/mounts/a', { type: 'pki' }), /in use at a\/team\//);
  refused(await ask('POST', 'sys/remount', { from: '1000001-team', to: 'a' }), /in use at a\/team/);
  refused(
    await ask('POST', 'sys/remount', { from: '1000001-team', to: 'a/team' }),
    /already in use/,
  );
  await must(ask('POST', 'sys/remount', { from: 'a/team', to: 'a' }));
  await must(ask('POST', 'sys/remount', { from: 'a', to: 'team' }));
  for (const path of ['tea', 'teams', 'team-x', 'team.x']) {
    await must(ask('POST', `sys/mounts/${path}`, { type: 'pki' }));
    await must(ask('DELETE', `sys/mounts/${path}`));
  }
});

test('who comes after a mount was changed waits for it as long as it takes to read one', async () => {
  await must(
    call('POST', 'auth/1000001-up/users/u', { password: 'p', token_no_default_policy: true }),
  );
  const logIn = await must(call('POST', 'auth/1000001-up/login/u', { password: 'p' }));
  const token = logIn.textAt('auth.client_token');
  for (let n = 0; n < 3; n += 1) {
    await holdBounds({ turn: LONGEST_TURN, whole: 150 }, async (nth) => {
      await must(call('POST', 'sys/mounts/team/tune', { description: `d${n} ${nth}` }));
      let turn = 0;
      const whole = await cpuUntil(async () => {
        turn = await longestTurn(async () => {
          const own = await call('GET', 'auth/token/lookup-self', undefined, { token });
          assert.equal(own.status, 403);
        });
      });
      return { turn, whole };
    });
  }
});

test('the settings of all mounts of a kind have four megabytes, and may have less at any time', async () => {
  const other = await startTestServer({ after });
  const bytes = `would have 4\\d{6} bytes, and may have at most ${MOST_BYTES}`;
  await must(other.call('POST', 'sys/mounts/team', { type: 'pki', ...LARGEST }));
  await copyMount(other, 'secret', 'team/', 63);
  await must(other.call('POST', 'sys/mounts/small', { type: 'pki' }));
  refused(
    await other.call('POST', 'sys/mounts/other', { type: 'pki', ...LARGEST }),
    new RegExp(bytes),
  );
  refused(await other.call('POST', 'sys/mounts/small/tune', LARGEST), new RegExp(bytes));
  await must(other.call('POST', 'sys/auth/up', { type: 'userpass', ...LARGEST }));
  await must(other.call('DELETE', 'sys/mounts/1000001-team'));
  await must(other.call('POST', 'sys/mounts/small/tune', LARGEST));
  // What was stored before there was a bound may become less, and be described otherwise.
  await copyRow(other.running.app.store, 'mount', {
    of: { kind: 'secret', path: 'team/' },
    copies: 5,
    changes: {
      id: sql`'9' || ${numbered('id')}`,
      path: sql`'9' || ${numbered('path')}`,
      accessor: sql`'9' || ${numbered('accessor')}`,
    },
  });
  refused(await other.call('POST', 'sys/mounts/team/tune', { description: 'x' }), /4\d{6} bytes/);
  await must(other.call('POST', 'sys/mounts/team/tune', { options: { n: 'x' } }));
  await must(other.call('GET', 'sys/mounts'));
});
