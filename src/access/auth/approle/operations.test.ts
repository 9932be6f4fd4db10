import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller, testMount } from '../../../../test/support/app.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import { Failure } from '../../../core/failure.ts';
import type { Store } from '../../../store/store.ts';
import type { Effect } from '../../../store/write.ts';
import { ensureEntityForAlias } from '../../identity/operations.ts';
import { logInWithSecretId } from './login.operations.ts';
import { readApprole, readRoleId, removeApprole, writeApprole, writeRoleId } from './operations.ts';
import {
  createSecretId,
  destroySecretIdAccessor,
  listSecretIdAccessors,
  lookUpSecretId,
  tidySecretIds,
} from './secret-ids.operations.ts';

const ROLE = { role_name: 'ci' };
const NOTHING_ASKED = { metadata: '', cidr_list: [], token_bound_cidrs: [] };

const refusal = (message: RegExp) => (error: unknown) =>
  error instanceof Failure && message.test(error.message);
const isRefused = refusal(/^invalid role or secret ID$/);

async function openServer(open: () => Promise<Store>) {
  const { app, clock } = await openTestApp(await open());
  const caller = testCaller(testMount({ kind: 'auth', path: 'approle/', type: 'approle' }));
  const write = (fields: Partial<Parameters<typeof writeApprole>[2]>) =>
    writeApprole(app, caller, { ...ROLE, role_id: '', ...fields });
  await write({ token_policies: ['reader'] });
  const role_id = (await readRoleId(app, caller, ROLE)).data.role_id;
  const make = async (request: Partial<Parameters<typeof createSecretId>[2]> = {}) => {
    const answer = await createSecretId(app, caller, {
      ...ROLE,
      ...NOTHING_ASKED,
      secret_id: '',
      ...request,
    });
    return {
      secret_id: answer.data.secret_id,
      secret_id_accessor: answer.data.secret_id_accessor,
    };
  };
  const logIn = (secret_id: string, by = role_id) =>
    logInWithSecretId(app, caller, { role_id: by, secret_id });
  return { app, clock, caller, write, make, logIn };
}

eachEngine('approle', (open) => {
  test('a counted secret ID goes with its last log-in, and one that has run out with the job', async () => {
    const { app, clock, make, logIn } = await openServer(open);
    const stored = async (): Promise<number> =>
      (await app.db.selectFrom('approle_secret_id').select('id').execute()).length;
    const twice = await make({ num_uses: 2 });
    await make();
    const short = await make({ ttl: 60 });
    await logIn(twice.secret_id);
    assert.equal(await stored(), 3);
    await logIn(twice.secret_id);
    assert.equal(await stored(), 2);
    await assert.rejects(logIn(twice.secret_id), isRefused);
    const turn = {
      stopping: false,
      fence: () => assert.fail('it is in the set that is committed'),
      commit: (effects: readonly Effect[]) => app.store.commit(effects),
    };
    await tidySecretIds(app, turn);
    assert.equal(await stored(), 2);
    clock.now += 60_000;
    await assert.rejects(logIn(short.secret_id), isRefused);
    await tidySecretIds(app, turn);
    assert.equal(await stored(), 1);
  });

  test('a role ID with its secret ID makes a token with the policies of the role', async () => {
    const { make, logIn } = await openServer(open);
    const { secret_id } = await make({ metadata: '{"job":"7","role_name":"x"}' });
    const { auth } = await logIn(secret_id);
    assert.deepEqual(auth?.policies, ['default', 'reader']);
    assert.deepEqual(auth?.metadata, { job: '7', role_name: 'ci' });
    assert.equal(auth?.orphan, true);
  });

  test('a wrong half is refused in the same words, whichever it is', async () => {
    const { app, caller, make, logIn } = await openServer(open);
    const { secret_id } = await make();
    await assert.rejects(logIn(`${secret_id}x`), isRefused);
    await assert.rejects(logIn(secret_id, 'other'), isRefused);
    await writeApprole(app, caller, { role_name: 'other', role_id: 'other' });
    await assert.rejects(logIn(secret_id, 'other'), isRefused);
  });

  test("a role's ID is no other role's in other letters: both would be one entity", async () => {
    const { app, caller, write } = await openServer(open);
    await write({ role_id: 'Boss' });
    const other = { role_name: 'other', role_id: 'bOSS' };
    await assert.rejects(writeApprole(app, caller, other), refusal(/in use by another role/));
    await writeApprole(app, caller, { role_name: 'other', role_id: 'bosses' });
    await assert.rejects(writeRoleId(app, caller, other), refusal(/in use by another role/));
    await write({ role_id: 'boss' });
  });

  test('two roles whose IDs were the same in other letters before can be written, and no third is made', async () => {
    const { app, caller, write } = await openServer(open);
    await write({ role_id: 'Boss' });
    const second = { role_name: 'second', role_id: '' };
    await writeApprole(app, caller, second);
    const rename =
      "update approle_role set role_id = 'bOSS', role_id_key = null where name = 'second'";
    await app.store.commit([{ sql: rename, parameters: [], rows: 1 }]);
    const keys = async () => {
      const rows = app.db.selectFrom('approle_role').select('role_id_key').orderBy('name');
      return (await rows.execute()).map((row) => row.role_id_key);
    };
    await writeApprole(app, caller, { ...second, token_policies: ['less'] });
    await write({ token_policies: ['less'] });
    assert.deepEqual(await keys(), ['boss', null]);
    const third = { role_name: 'third', role_id: 'BOSS' };
    await assert.rejects(writeApprole(app, caller, third), refusal(/in use by another role/));
    await write({ role_id: 'other' });
    await assert.rejects(writeApprole(app, caller, third), refusal(/in use by another role/));
    await writeApprole(app, caller, second);
    assert.deepEqual(await keys(), ['other', 'boss']);
  });

  test('of two roles that take an ID at once, in other letters, one gets it', async () => {
    const { app, caller } = await openServer(open);
    const names = Array.from({ length: 6 }, (_, at) => `role-${at}`);
    const written = await Promise.allSettled(
      names.map((role_name, at) =>
        writeApprole(app, caller, { role_name, role_id: at % 2 ? 'BOSS' : 'boss' }),
      ),
    );
    const refused = written.filter((one) => one.status === 'rejected');
    assert.equal(refused.length, names.length - 1);
    for (const { reason } of refused) assert.match(String(reason), /in use by another role/);
  });

  test("an ID that was given up, or that an alias has, is nobody else's entity", async () => {
    const { app, caller, write, make, logIn } = await openServer(open);
    const mine = { role_name: 'mine' };
    const logInAs = async (role_name: string, role_id: string): Promise<string> => {
      const made = await createSecretId(app, caller, {
        role_name,
        ...NOTHING_ASKED,
        secret_id: '',
      });
      const { auth } = await logIn(made.data.secret_id, role_id);
      return auth?.entity_id ?? assert.fail('no entity');
    };
    await write({ role_id: 'lk' });
    const { secret_id } = await make();
    const victim = (await logIn(secret_id, 'lk')).auth?.entity_id;
    assert.ok(victim);
    await write({ role_id: 'LK' });
    assert.equal(await logInAs('ci', 'LK'), victim, 'its own ID in other letters is the same');

    // The victim's role is rotated: its ID is free, and names nobody.
    await writeRoleId(app, caller, { ...ROLE, role_id: 'lk2' });
    await writeApprole(app, caller, { ...mine, role_id: 'Lk' });
    assert.notEqual(await logInAs('mine', 'Lk'), victim);
    // It is removed, and made again by somebody else.
    const later = await logInAs('ci', 'lk2');
    await removeApprole(app, caller, ROLE);
    await writeRoleId(app, caller, { ...mine, role_id: 'LK2' });
    assert.notEqual(await logInAs('mine', 'LK2'), later);

    // An alias that no role stands behind, as those of older roles.
    const kept = await ensureEntityForAlias(app, caller.mount, 'kept');
    await app.commit(caller, kept.effects);
    const refused = refusal(/name of an alias/);
    for (const role_id of ['kept', 'KEPT']) {
      await assert.rejects(writeRoleId(app, caller, { ...mine, role_id }), refused);
      await assert.rejects(writeApprole(app, caller, { ...mine, role_id }), refused);
      await assert.rejects(writeApprole(app, caller, { role_name: 'new', role_id }), refused);
    }
    await writeApprole(app, caller, { role_name: 'new', role_id: 'kept2' });
  });

  test('whoever may not log in is told the same of a role that is there and of one that is not', async () => {
    const { app, caller, write, make } = await openServer(open);
    await write({ role_id: 'known', secret_id_num_uses: 1 });
    await writeApprole(app, caller, {
      role_name: 'far',
      role_id: 'far',
      secret_id_bound_cidrs: ['198.51.100.0/24'],
      bind_secret_id: false,
    });
    const { secret_id } = await make();
    let selects = 0;
    const db = new Proxy(app.db, {
      get(target, key) {
        if (key === 'selectFrom') selects += 1;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const watched = { ...app, db };
    const ask = async (role_id: string, secret: string): Promise<[string, number]> => {
      selects = 0;
      const asked = logInWithSecretId(watched, caller, { role_id, secret_id: secret });
      const said = await asked.then(
        () => 'in',
        (error: Error) => error.message,
      );
      return [said, selects];
    };
    for (const [secret, said] of [
      ['', 'missing secret_id'],
      ['wrong', 'invalid role or secret ID'],
    ] as const) {
      const answers = [];
      for (const role_id of ['known', 'far', 'unknown']) answers.push(await ask(role_id, secret));
      assert.deepEqual(answers, [
        [said, 2],
        [said, 2],
        [said, 2],
      ]);
    }
    const uses = { role_id: 'known', secret_id };
    assert.ok((await logInWithSecretId(app, caller, uses)).auth);
    const usedUp = ['invalid role or secret ID', 2];
    assert.deepEqual(await ask('known', secret_id), usedUp);
    assert.deepEqual(await ask('unknown', secret_id), usedUp);
    for (const role_id of ['known', 'unknown']) {
      for (let again = 0; again < 25; again++) await ask(role_id, 'wrong');
      assert.equal((await ask(role_id, 'wrong'))[0], 'invalid role or secret ID', 'too many');
      assert.equal((await ask(role_id, ''))[0], 'missing secret_id', 'too many');
    }
  });

  let ttl = 0;
  const changes: [
    what: string,
    change: (server: Awaited<ReturnType<typeof openServer>>) => Promise<unknown>,
    times: number,
    ends: string,
  ][] = [
    ['has other policies', ({ write }) => write({ token_policies: ['less'] }), 1, 'default,less'],
    [
      'is another one each time',
      ({ write }) => write({ token_ttl: ++ttl }),
      Number.POSITIVE_INFINITY,
      'unavailable',
    ],
    ['is removed', ({ app, caller }) => removeApprole(app, caller, ROLE), 1, 'invalid'],
    [
      'has another ID',
      ({ app, caller }) => writeRoleId(app, caller, { ...ROLE, role_id: 'other' }),
      1,
      'invalid',
    ],
  ];
  for (const [what, change, times, ends] of changes) {
    test(`a right log-in ends with ${ends} when its role ${what} meanwhile`, async () => {
      const server = await openServer(open);
      const { app, caller, make } = server;
      const role_id = (await readRoleId(app, caller, ROLE)).data.role_id;
      const { secret_id } = await make();
      let left = times;
      const slow: typeof app = {
        ...app,
        async commitOnce(by, effects) {
          left -= 1;
          if (left >= 0) await change(server);
          await app.commitOnce(by, effects);
        },
      };
      const said = await logInWithSecretId(slow, caller, { role_id, secret_id }).then(
        ({ auth }) => auth?.policies.join(),
        (error: unknown) => (error instanceof Failure ? error.kind : String(error)),
      );
      assert.equal(said, ends);
    });
  }

  test('a secret ID with two uses makes two tokens, also when all are asked for at once', async () => {
    const { write, make, logIn } = await openServer(open);
    await write({ secret_id_num_uses: 2 });
    const { secret_id } = await make();
    const attempts = await Promise.allSettled(Array.from({ length: 6 }, () => logIn(secret_id)));
    assert.equal(attempts.filter((attempt) => attempt.status === 'fulfilled').length, 2);
    await assert.rejects(logIn(secret_id), isRefused);
  });

  test('a secret ID works until its last second and not at its end', async () => {
    const { clock, write, make, logIn } = await openServer(open);
    await write({ secret_id_ttl: 60 });
    const { secret_id } = await make();
    clock.now += 59;
    assert.ok((await logIn(secret_id)).auth);
    clock.now += 1;
    await assert.rejects(logIn(secret_id), isRefused);
  });

  test('a secret ID is never given more than its role allows', async () => {
    const { write, make } = await openServer(open);
    await write({ secret_id_num_uses: 2, secret_id_ttl: 60, token_bound_cidrs: ['192.0.2.0/24'] });
    await make({ num_uses: 2, ttl: 60, token_bound_cidrs: ['192.0.2.0/25'] });
    await assert.rejects(make({ num_uses: 3 }), refusal(/num_uses cannot be higher/));
    await assert.rejects(make({ num_uses: 0 }), refusal(/num_uses cannot be higher/));
    await assert.rejects(make({ ttl: 61 }), refusal(/ttl cannot be longer/));
    await assert.rejects(make({ ttl: 0 }), refusal(/ttl cannot be longer/));
    await assert.rejects(make({ token_bound_cidrs: ['192.0.2.0/23'] }), refusal(/must lie within/));
  });

  test('a secret ID bound to addresses is good from there only', async () => {
    const { make, logIn } = await openServer(open);
    const near = await make({ cidr_list: ['192.0.2.0/24'] });
    const far = await make({ cidr_list: ['198.51.100.0/24'] });
    assert.ok((await logIn(near.secret_id)).auth);
    await assert.rejects(logIn(far.secret_id), isRefused);
  });

  test('a destroyed secret ID is gone, and others stay', async () => {
    const { app, caller, make, logIn } = await openServer(open);
    const [first, second] = [await make(), await make()];
    await destroySecretIdAccessor(app, caller, { ...ROLE, ...first });
    await assert.rejects(logIn(first.secret_id), isRefused);
    const { data } = await listSecretIdAccessors(app, caller, ROLE);
    assert.deepEqual(data, { keys: [second.secret_id_accessor] });
    assert.deepEqual(await lookUpSecretId(app, caller, { ...ROLE, ...first }), {});
  });

  test('deleting a role ends its secret IDs for a role of the same name, too', async () => {
    const { app, caller, write, make, logIn } = await openServer(open);
    const { secret_id } = await make();
    await removeApprole(app, caller, ROLE);
    await write({});
    const again = (await readRoleId(app, caller, ROLE)).data.role_id;
    await assert.rejects(logIn(secret_id, again), isRefused);
  });

  test('a role that asks for no secret ID must be bound to addresses', async () => {
    const { write, logIn } = await openServer(open);
    await assert.rejects(write({ bind_secret_id: false }), refusal(/at least one constraint/));
    await write({ bind_secret_id: false, secret_id_bound_cidrs: ['192.0.2.0/24'] });
    assert.ok((await logIn('')).auth);
    await write({ secret_id_bound_cidrs: ['198.51.100.0/24'] });
    // The words for whoever sends none, whatever the role asks for.
    await assert.rejects(logIn(''), refusal(/^missing secret_id$/));
    await assert.rejects(logIn('wrong'), isRefused);
  });

  test('a role reads back as written, and a second write keeps what it leaves out', async () => {
    const { app, caller, write } = await openServer(open);
    await write({ secret_id_num_uses: 3 });
    const role = (await readApprole(app, caller, ROLE)).data;
    assert.deepEqual(role.token_policies, ['reader']);
    assert.equal(role.secret_id_num_uses, 3);
    assert.equal(role.secret_id_bound_cidrs, null);
  });
});
