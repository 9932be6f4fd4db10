import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  enableTestMount,
  openTestApp,
  requireTestMount,
  testCaller,
} from '../../../../test/support/app.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import { Failure, isConflict } from '../../../core/failure.ts';
import type { Store } from '../../../store/store.ts';
import { disableMount } from '../../../system/mounts/removal.operations.ts';
import { authenticate } from '../../permissions/authentication.operations.ts';
import {
  listUsers,
  logInWithPassword,
  readUser,
  removeUser,
  replacePolicies,
  resetPassword,
  writeUser,
} from './operations.ts';

const refusal = (message: RegExp) => (error: unknown) =>
  error instanceof Failure && error.kind === 'invalid' && message.test(error.message);

async function openServer(open: () => Promise<Store>) {
  const { app, clock } = await openTestApp(await open());
  const mountAt = async (path: string) => {
    await enableTestMount(app, { kind: 'auth', path, type: 'userpass' });
    return testCaller(await requireTestMount(app, `auth/${path}/`));
  };
  const caller = await mountAt('userpass');
  await writeUser(app, caller, {
    username: 'Ann',
    password: 'correct horse',
    token_policies: ['reader'],
    token_ttl: 600,
  });
  return { app, clock, caller, mountAt };
}

eachEngine('userpass', (open) => {
  test('who is given the name of a removed user is another entity', async () => {
    const { app, caller } = await openServer(open);
    const logIn = async (): Promise<string> => {
      const sent = { username: 'ann', password: 'correct horse' };
      const { auth } = await logInWithPassword(app, caller, sent);
      return auth?.entity_id ?? assert.fail('no entity');
    };
    const first = await logIn();
    await writeUser(app, caller, { username: 'ANN', password: 'correct horse' });
    assert.equal(await logIn(), first, 'a user that is only changed is the same');
    await removeUser(app, caller, { username: 'other' });
    assert.equal(await logIn(), first);
    await removeUser(app, caller, { username: 'Ann' });
    await writeUser(app, caller, { username: 'ann', password: 'correct horse' });
    assert.notEqual(await logIn(), first);
  });

  const again = { username: 'ann', password: 'battery staple', token_policies: ['less'] };
  for (const [name, write, kept] of [
    [
      'a new password is not given to another user of the name',
      (app, caller) => resetPassword(app, caller, { username: 'ann', password: 'late' }),
      again,
    ],
    [
      'a lifetime with a password is not given to another user of the name',
      (app, caller) => writeUser(app, caller, { username: 'ann', password: 'late', token_ttl: 5 }),
      again,
    ],
    [
      'a lifetime leaves another user of the name their policies',
      (app, caller) => writeUser(app, caller, { username: 'ann', password: '', token_ttl: 5 }),
      again,
    ],
  ] satisfies [string, (app: App, caller: Caller) => Promise<unknown>, typeof again][]) {
    test(`${name}, who came while it was under way`, async () => {
      const { app, caller } = await openServer(open);
      let isFirst = true;
      const slow: App = {
        ...app,
        async commitOnce(by, effects) {
          if (isFirst) {
            isFirst = false;
            await removeUser(app, caller, kept);
            await writeUser(app, caller, kept);
          }
          await app.commitOnce(by, effects);
        },
      };
      await write(slow, caller).catch((error: unknown) => {
        assert.ok(isConflict(error), String(error));
      });
      const { auth } = await logInWithPassword(app, caller, kept);
      assert.deepEqual(auth?.policies, ['default', 'less']);
    });
  }

  const CORRECT = { username: 'ann', password: 'correct horse' };
  const less = { username: 'ann', password: '', token_policies: ['less'] };
  let ttl = 0;
  const changed: [
    what: string,
    change: (app: App, caller: Caller) => Promise<unknown>,
    times: number,
    ends: string,
  ][] = [
    ['has other policies', (app, caller) => writeUser(app, caller, less), 1, 'default,less'],
    [
      'is another one each time',
      (app, caller) => writeUser(app, caller, { ...less, token_ttl: ++ttl }),
      Number.POSITIVE_INFINITY,
      'unavailable',
    ],
    ['is removed', (app, caller) => removeUser(app, caller, CORRECT), 1, 'invalid'],
    [
      'has another password',
      (app, caller) => resetPassword(app, caller, { ...CORRECT, password: 'other' }),
      1,
      'invalid',
    ],
    [
      'may come from elsewhere alone',
      (app, caller) =>
        writeUser(app, caller, { ...CORRECT, token_bound_cidrs: ['198.51.100.0/24'] }),
      1,
      'invalid',
    ],
  ];
  for (const [what, change, times, ends] of changed) {
    test(`a log-in with the right password ends with ${ends} when its user ${what} meanwhile`, async () => {
      const { app, caller } = await openServer(open);
      let left = times;
      const slow: App = {
        ...app,
        async commitOnce(by, effects) {
          left -= 1;
          if (left >= 0) await change(app, caller);
          await app.commitOnce(by, effects);
        },
      };
      const said = await logInWithPassword(slow, caller, CORRECT).then(
        ({ auth }) => auth?.policies.join(),
        (error: unknown) => (error instanceof Failure ? error.kind : String(error)),
      );
      assert.equal(said, ends);
    });
  }

  test('a password is hashed once, however often its write is planned', async () => {
    const { app, caller } = await openServer(open);
    let commits = 0;
    let salts = 0;
    const slow: App = {
      ...app,
      randomBytes(length) {
        salts += 1;
        return app.randomBytes(length);
      },
      async commitOnce(by, effects) {
        commits += 1;
        if (commits < 3)
          await replacePolicies(app, caller, { ...again, token_policies: [`p${commits}`] });
        await app.commitOnce(by, effects);
      },
    };
    await resetPassword(slow, caller, again);
    assert.deepEqual([commits, salts], [3, 1]);
    assert.deepEqual((await logInWithPassword(app, caller, again)).auth?.policies, [
      'default',
      'p2',
    ]);
  });

  test('the right password makes an orphan with the policies of the user', async () => {
    const { app, caller } = await openServer(open);
    const answer = await logInWithPassword(app, caller, {
      username: 'ann',
      password: 'correct horse',
    });
    assert.deepEqual(answer.auth?.policies, ['default', 'reader']);
    assert.deepEqual(answer.auth?.metadata, { username: 'ann' });
    assert.equal(answer.auth?.orphan, true);
    assert.equal(answer.auth?.lease_duration, 600);
    const known = await authenticate(app, answer.auth?.client_token ?? '');
    assert.equal(known?.token.display_name, 'userpass-ann');
  });

  test('a wrong password and an unknown user are refused in the same words', async () => {
    const { app, caller } = await openServer(open);
    const message = /^invalid username or password$/;
    for (const input of [
      { username: 'ann', password: 'correct hors' },
      { username: 'bob', password: 'correct horse' },
    ]) {
      await assert.rejects(logInWithPassword(app, caller, input), refusal(message));
    }
  });

  test('a user of one mount is none of another', async () => {
    const { app, mountAt } = await openServer(open);
    const other = await mountAt('people');
    await assert.rejects(
      logInWithPassword(app, other, { username: 'ann', password: 'correct horse' }),
      refusal(/invalid username or password/),
    );
  });

  test('a user bound to addresses logs in from there only', async () => {
    const { app, caller } = await openServer(open);
    const input = { username: 'ann', password: 'correct horse' };
    await writeUser(app, caller, { ...input, token_bound_cidrs: ['192.0.2.0/24'] });
    assert.ok((await logInWithPassword(app, caller, input)).auth);
    await writeUser(app, caller, { ...input, token_bound_cidrs: ['198.51.100.0/24'] });
    await assert.rejects(logInWithPassword(app, caller, input), refusal(/invalid username/));
  });

  test('a new password replaces the old one, and keeps the rest', async () => {
    const { app, caller } = await openServer(open);
    await resetPassword(app, caller, { username: 'ann', password: 'staple' });
    await assert.rejects(
      logInWithPassword(app, caller, { username: 'ann', password: 'correct horse' }),
      refusal(/invalid username or password/),
    );
    const answer = await logInWithPassword(app, caller, { username: 'ann', password: 'staple' });
    assert.deepEqual(answer.auth?.policies, ['default', 'reader']);
  });

  test('nothing that is read or stored shows a password', async () => {
    const { app, caller } = await openServer(open);
    const read = await readUser(app, caller, { username: 'ann' });
    assert.doesNotMatch(JSON.stringify(read), /scrypt|argon2/);
    const rows = await app.db.selectFrom('userpass_user').selectAll().execute();
    assert.equal(JSON.stringify(rows).includes('correct horse'), false);
  });

  test('a user cannot be given the policy root', async () => {
    const { app, caller } = await openServer(open);
    await assert.rejects(
      writeUser(app, caller, { username: 'eve', password: 'x', token_policies: ['Root'] }),
      refusal(/cannot create root tokens/),
    );
  });

  test('a new user needs a password', async () => {
    const { app, caller } = await openServer(open);
    await assert.rejects(
      writeUser(app, caller, { username: 'bob', password: '' }),
      refusal(/missing password/),
    );
  });

  test('a deleted user is gone from the list and cannot log in', async () => {
    const { app, caller } = await openServer(open);
    assert.deepEqual((await listUsers(app, caller)).data, { keys: ['ann'] });
    await removeUser(app, caller, { username: 'ann' });
    await assert.rejects(
      listUsers(app, caller),
      (error: unknown) => error instanceof Failure && error.kind === 'not_found',
    );
    await assert.rejects(
      logInWithPassword(app, caller, { username: 'ann', password: 'correct horse' }),
      refusal(/invalid username or password/),
    );
  });

  test('disabling the mount ends the tokens it made', async () => {
    const { app, caller } = await openServer(open);
    const { auth } = await logInWithPassword(app, caller, {
      username: 'ann',
      password: 'correct horse',
    });
    await disableMount(app, caller, { kind: 'auth', path: 'userpass' });
    assert.equal(await authenticate(app, auth?.client_token ?? ''), undefined);
  });
});
