import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  enableTestMount,
  openTestApp,
  requireTestMount,
  testCaller,
} from '../../../../test/support/app.ts';
import { eachEngine } from '../../../../test/support/engines.ts';
import { hashOfOld } from '../../../../test/support/old-hashes.ts';
import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { isMadeAt, SALT_LENGTH, verifyPassword } from '../../../core/password-hash.ts';
import type { Store } from '../../../store/store.ts';
import { isAuditEntry } from '../../../store/write.ts';
import { refuseForNow } from '../../concurrency/operations.ts';
import {
  logInWithPassword,
  removeUser,
  replacePolicies,
  resetPassword,
  writeUser,
} from './operations.ts';
import { HASH_COST, NO_PASSWORD } from './user.ts';

const RIGHT = { username: 'ann', password: 'correct horse' };
const WRONG = { username: 'ann', password: 'battery staple' };

/** A server with a user whose password a server of old has hashed. */
async function openServer(open: () => Promise<Store>) {
  const { app } = await openTestApp(await open());
  await enableTestMount(app, { kind: 'auth', path: 'userpass', type: 'userpass' });
  const caller = testCaller(await requireTestMount(app, 'auth/userpass/'));
  await writeUser(app, caller, { ...RIGHT, token_policies: ['reader'] });
  const kept = async () =>
    app.db.selectFrom('userpass_user').select(['password_hash', 'body']).executeTakeFirstOrThrow();
  const old = hashOfOld(RIGHT.password);
  const sql = "update userpass_user set password_hash = $1 where name = 'ann'";
  await app.store.commit([{ sql, parameters: [old], rows: 1 }]);
  const logIn = (input = RIGHT, on = app) =>
    logInWithPassword(on, caller, input).then(
      ({ auth }) => auth.policies.join(),
      (error: unknown) => (error instanceof Failure ? error.kind : String(error)),
    );
  return { app, caller, kept, old, logIn };
}

const isNew = (hashed: string): boolean => isMadeAt(HASH_COST, hashed);

/** Does something before the write set of the first log-in. */
function meanwhile(app: App, change: () => Promise<unknown>): App {
  let isFirst = true;
  return {
    ...app,
    async commitOnce(caller, effects) {
      if (isFirst) {
        isFirst = false;
        await change();
      }
      await app.commitOnce(caller, effects);
    },
  };
}

eachEngine('hashes of old', (open) => {
  test('a log-in with the right password puts a hash of today in its place, and nothing else', async () => {
    const { app, kept, old, logIn } = await openServer(open);
    const before = await kept();
    assert.equal(before.password_hash, old);
    let sets = 0;
    const counting: App = {
      ...app,
      async commitOnce(caller, effects) {
        sets += 1;
        await app.commitOnce(caller, effects);
      },
    };
    assert.equal(await logIn(RIGHT, counting), 'default,reader');
    assert.equal(sets, 1, 'with the token, in one write set');
    const after = await kept();
    assert.ok(isNew(after.password_hash), after.password_hash);
    assert.equal(after.body, before.body);
    assert.ok(await verifyPassword(RIGHT.password, after.password_hash));
    assert.equal(await logIn(WRONG), 'invalid');
    assert.equal(await logIn(), 'default,reader');
    assert.deepEqual(await kept(), after, 'made once');
  });

  test('a log-in sends nothing of what else is kept of the user', async () => {
    const { app, kept, logIn } = await openServer(open);
    const { body } = await kept();
    const sent: unknown[] = [];
    const watched: App = {
      ...app,
      async commitOnce(caller, effects) {
        sent.push(...effects.flatMap((one) => (isAuditEntry(one) ? [] : one.parameters)));
        await app.commitOnce(caller, effects);
      },
    };
    assert.equal(await logIn(RIGHT, watched), 'default,reader');
    const { password_hash } = await kept();
    assert.ok(isNew(password_hash) && sent.includes(password_hash));
    assert.ok(!sent.includes(body));
  });

  test('a log-in that is refused leaves it', async () => {
    const { app, caller, kept, old, logIn } = await openServer(open);
    assert.equal(await logIn(WRONG), 'invalid');
    assert.equal(await logIn({ ...RIGHT, username: 'bob' }), 'invalid');
    const far = { ...RIGHT, password: '', token_bound_cidrs: ['198.51.100.0/24'] };
    await writeUser(app, caller, far);
    assert.equal(await logIn(), 'invalid');
    assert.equal((await kept()).password_hash, old);
  });

  test('a log-in that is refused although the password is right takes no second hash, which would tell', async () => {
    const { app, caller, kept, old } = await openServer(open);
    await writeUser(app, caller, { ...RIGHT, password: '', token_strictly_bind_ip: true });
    const watched: App = {
      ...app,
      randomBytes: (length) => (length === SALT_LENGTH ? assert.fail() : app.randomBytes(length)),
    };
    const record = { ...caller.record, remote_address: 'nowhere' };
    await assert.rejects(logInWithPassword(watched, { ...caller, record }, RIGHT), {
      kind: 'invalid',
    });
    assert.equal((await kept()).password_hash, old);
  });

  test('a log-in whose set is refused, or that comes when too many hashes are made, leaves it', async () => {
    const { app, kept, old, logIn } = await openServer(open);
    const full: App = {
      ...app,
      async commitOnce() {
        throw new Failure('unavailable', 'too many writes');
      },
    };
    assert.equal(await logIn(RIGHT, full), 'unavailable');
    const busy: App = {
      ...app,
      randomBytes(length) {
        if (length === SALT_LENGTH) throw refuseForNow();
        return app.randomBytes(length);
      },
    };
    assert.equal(await logIn(RIGHT, busy), 'default,reader');
    assert.equal((await kept()).password_hash, old);
  });

  test('all who log in at once get in', async () => {
    const { kept, logIn } = await openServer(open);
    const said = await Promise.all(Array.from({ length: 5 }, () => logIn()));
    assert.deepEqual(new Set(said), new Set(['default,reader']));
    assert.ok(isNew((await kept()).password_hash));
  });

  test('what others change meanwhile is not lost', async () => {
    const { app, caller, kept, logIn } = await openServer(open);
    const less = () => replacePolicies(app, caller, { ...RIGHT, token_policies: ['less'] });
    assert.equal(await logIn(RIGHT, meanwhile(app, less)), 'default,less');
    const { password_hash } = await kept();
    assert.ok(isNew(password_hash));
  });

  test('a password that is set meanwhile stays, and the one before lets nobody in', async () => {
    const { app, caller, kept, logIn } = await openServer(open);
    const reset = () => resetPassword(app, caller, WRONG);
    assert.equal(await logIn(RIGHT, meanwhile(app, reset)), 'invalid');
    assert.ok(await verifyPassword(WRONG.password, (await kept()).password_hash));
    assert.equal(await logIn(WRONG), 'default,reader');
  });

  test('a user who is removed meanwhile does not come back', async () => {
    const { app, caller, logIn } = await openServer(open);
    const remove = () => removeUser(app, caller, RIGHT);
    assert.equal(await logIn(RIGHT, meanwhile(app, remove)), 'invalid');
    assert.deepEqual(await app.db.selectFrom('userpass_user').select('name').execute(), []);
  });
});

/** CPU time in milliseconds, which others on the machine hardly change. */
async function measure(hashed: string): Promise<number> {
  const before = process.cpuUsage();
  await verifyPassword('a password', hashed);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

test('a check takes about as long of a hash of old as of nobody', async () => {
  const old = hashOfOld('another password');
  const times: [old: number, nobody: number][] = [];
  for (let at = 0; at < 8; at += 1) times.push([await measure(old), await measure(NO_PASSWORD)]);
  const least = ([0, 1] as const).map((kind) => Math.min(...times.map((pair) => pair[kind])));
  const [ofOld = 0, ofNobody = 0] = least;
  assert.ok(ofOld < 1.5 * ofNobody && ofNobody < 1.5 * ofOld, `${ofOld} and ${ofNobody} ms`);
});
