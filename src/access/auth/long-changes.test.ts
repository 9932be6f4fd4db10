import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller, testMount } from '../../../test/support/app.ts';
import { countCommitting } from '../../../test/support/committing.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { writeApprole } from './approle/operations.ts';
import { createSecretId } from './approle/secret-ids.operations.ts';
import { writeTokenRole } from './token/roles.operations.ts';
import { replacePolicies, resetPassword, writeUser } from './userpass/operations.ts';

/** As many texts as make something a short, a middling or a large one. */
const SIZES = { short: 10, middling: 100, large: 500 } as const;

const textsOf = (size: keyof typeof SIZES): string[] =>
  Array.from({ length: SIZES[size] }, (_, at) => `${at}`.padEnd(100, '語'));

/** Makes something of a name, and changes it, by some other number each time. */
interface Kind {
  mount: 'auth/token/' | { kind: 'auth'; path: string; type: 'userpass' | 'approle' };
  make(app: App, caller: Caller, name: string, texts: string[]): Promise<unknown>;
  change(app: App, caller: Caller, name: string, at: number, texts: string[]): Promise<unknown>;
}

const USERPASS = { kind: 'auth', path: 'userpass/', type: 'userpass' } as const;
const APPROLE = { kind: 'auth', path: 'approle/', type: 'approle' } as const;
const NOTHING_ASKED = { secret_id: '', metadata: '', cidr_list: [], token_bound_cidrs: [] };

const makeUser: Kind['make'] = (app, caller, username, token_policies) =>
  writeUser(app, caller, { username, password: 'correct horse', token_policies });
const makeApprole: Kind['make'] = (app, caller, role_name, token_policies) =>
  writeApprole(app, caller, { role_name, role_id: '', token_policies });

const KINDS: Record<string, Kind> = {
  'token roles': {
    mount: 'auth/token/',
    make: (app, caller, role_name, allowed_policies) =>
      writeTokenRole(app, caller, { role_name, allowed_policies }),
    change: (app, caller, role_name, at) =>
      writeTokenRole(app, caller, { role_name, token_explicit_max_ttl: at + 1 }),
  },
  users: {
    mount: USERPASS,
    make: makeUser,
    change: (app, caller, username, at) =>
      writeUser(app, caller, { username, password: '', token_ttl: at + 1 }),
  },
  'policies of users': {
    mount: USERPASS,
    make: makeUser,
    change: (app, caller, username, at, texts) =>
      replacePolicies(app, caller, { username, token_policies: [`p${at}`, ...texts] }),
  },
  AppRoles: {
    mount: APPROLE,
    make: makeApprole,
    change: (app, caller, role_name, at) =>
      writeApprole(app, caller, { role_name, role_id: '', token_ttl: at + 1 }),
  },
  'secret IDs of AppRoles': {
    mount: APPROLE,
    make: makeApprole,
    change: (app, caller, role_name) =>
      createSecretId(app, caller, { role_name, ...NOTHING_ASKED }),
  },
};

const SAME = Array<string>(12).fill('r');
const OTHERS = SAME.map((name, at) => `${name}${at}`);

for (const [kind, { mount, make, change }] of Object.entries(KINDS)) {
  eachEngine(`${kind} that are changed by many at once`, (open) => {
    for (const [size, names, most, why] of [
      ['short', OTHERS, 12, 'short ones wait for nobody'],
      ['short', SAME, 12, 'nor do those who change the same'],
      ['middling', OTHERS, 8, 'of middling ones some are held'],
      ['middling', SAME, 1, 'of the same one'],
      ['large', OTHERS, 2, 'of large ones few'],
      ['large', SAME, 1, 'of the same one'],
    ] as const) {
      test(`${why}: ${size}`, async () => {
        const { app } = await openTestApp(await open());
        const of =
          typeof mount === 'string' ? await requireTestMount(app, mount) : testMount(mount);
        const caller = () => testCaller(of);
        for (const name of new Set(names)) await make(app, caller(), name, textsOf(size));
        const { counting, most: counted } = countCommitting(app);
        // Others may be quicker so often that some are told so.
        const done = await Promise.allSettled(
          names.map((name, at) => change(counting, caller(), name, at, textsOf(size))),
        );
        assert.ok(done.some(({ status }) => status === 'fulfilled'));
        assert.ok(counted() <= most && counted() > most / 4, `${counted()} of ${most}`);
      });
    }
  });
}

eachEngine('passwords of long users', (open) => {
  test('who waited for another change is told that it was meant for who was there before', async () => {
    const { app } = await openTestApp(await open());
    const caller = testCaller(testMount(USERPASS));
    await makeUser(app, caller, 'r', textsOf('large'));
    const changes = await Promise.allSettled(
      ['first', 'second'].map((password) =>
        resetPassword(app, caller, { username: 'r', password }),
      ),
    );
    // Whose password is hashed first is first.
    const refused = changes.flatMap((one) => (one.status === 'rejected' ? String(one.reason) : []));
    assert.equal(refused.length, 1);
    assert.match(refused.join(), /another one/);
  });
});
