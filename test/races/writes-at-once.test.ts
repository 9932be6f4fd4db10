// Two requests that write one row, each of which says only a part of it: what was acknowledged first
// stays, whatever the other one had read.

import assert from 'node:assert/strict';
import {
  type Bench,
  type Contender,
  type ContestCase,
  contestAll,
  must,
} from '../support/racing.ts';
import type { Reply } from '../support/server.ts';

/** Something that is done to a thing, and how one sees that it was done. */
interface Act extends Contender {
  name: string;
  /** Absent for a removal: then the thing is not there. */
  shows?: () => Promise<boolean>;
  /** Ends log-ins: what ends the same ones waits for it. */
  ends?: true;
}

interface Thing {
  path: string;
  acts: readonly Act[];
}

/** Every two acts on one thing, in both orders. */
function contests(what: string, make: (bench: Bench) => Promise<Thing>, names: string[]) {
  return names.flatMap((first, at) =>
    names.slice(at + 1).map(
      (second): ContestCase => ({
        name: `${what}: ${first} and ${second}`,
        async setUp(bench) {
          const { path, acts } = await make(bench);
          const find = (name: string): Act =>
            acts.find((act) => act.name === name) ?? assert.fail(name);
          const [one, other] = [find(first), find(second)];
          return {
            one,
            other,
            in_line: one.ends === true && other.ends === true,
            judge: async ({ quicker, slower }) => {
              const read = await bench.remover.call('GET', path);
              const [early, late] = quicker.by === one ? [one, other] : [other, one];
              await judge({ early, late, reply: slower.reply, read });
            },
          };
        },
      }),
    ),
  );
}

async function judge(all: { early: Act; late: Act; reply: Reply; read: Reply }): Promise<void> {
  const { early, late, reply, read } = all;
  const isDone = reply.status < 300;
  if (!early.shows) {
    assert.equal(read.status, 404, `it is back: ${read.text}`);
    if (late.shows) assert.ok([400, 404].includes(reply.status), `${reply.status} ${reply.text}`);
    return;
  }
  assert.ok(isDone, `${reply.status} ${reply.text}`);
  if (!late.shows) return assert.equal(read.status, 404, read.text);
  assert.equal(await early.shows(), true, `${early.name} was undone: ${read.text}`);
  assert.equal(await late.shows(), true, `${late.name} is missing: ${read.text}`);
}

/** Whether a field reads as it was written. */
const reads =
  ({ remover }: Bench, path: string, field: string, value: unknown) =>
  async (): Promise<boolean> => {
    const read = await must(remover.call('GET', path));
    return JSON.stringify(read.field(`data.${field}`)) === JSON.stringify(value);
  };

async function newApprole(bench: Bench): Promise<string> {
  const mount = `ar${bench.next()}`;
  await must(bench.maker.call('POST', `sys/auth/${mount}`, { type: 'approle' }));
  const path = `auth/${mount}/role/web`;
  await must(bench.maker.call('POST', path, { token_policies: ['much'], secret_id_ttl: '1h' }));
  return path;
}

const approle = contests(
  'an AppRole',
  async (bench) => {
    const path = await newApprole(bench);
    const id = `id-${bench.next()}`;
    return {
      path,
      acts: [
        {
          name: 'its policies',
          method: 'POST',
          path,
          body: { token_policies: ['less'] },
          shows: reads(bench, path, 'token_policies', ['less']),
        },
        {
          name: 'its lifetime',
          method: 'POST',
          path,
          body: { token_max_ttl: 120 },
          shows: reads(bench, path, 'token_max_ttl', 120),
        },
        {
          name: 'its ID',
          method: 'POST',
          path: `${path}/role-id`,
          body: { role_id: id },
          ends: true,
          shows: reads(bench, `${path}/role-id`, 'role_id', id),
        },
        {
          name: 'a secret ID',
          method: 'POST',
          path: `${path}/secret-id`,
          body: {},
          shows: async () => {
            const list = await must(bench.remover.call('LIST', `${path}/secret-id`));
            return Array.isArray(list.field('data.keys'));
          },
        },
        { name: 'its removal', method: 'DELETE', path, ends: true },
      ],
    };
  },
  ['its policies', 'its lifetime', 'its ID', 'a secret ID', 'its removal'],
);

const OLD = 'correct horse';

async function newUser(bench: Bench): Promise<{ mount: string; path: string }> {
  const mount = `up${bench.next()}`;
  await must(bench.maker.call('POST', `sys/auth/${mount}`, { type: 'userpass' }));
  const path = `auth/${mount}/users/ann`;
  const body = { password: OLD, token_policies: ['much'] };
  await must(bench.maker.call('POST', path, body));
  return { mount, path };
}

const lets =
  ({ remover }: Bench, mount: string, password: string) =>
  async (): Promise<boolean> => {
    const path = `auth/${mount}/login/ann`;
    return (await remover.call('POST', path, { password }, { token: '' })).status === 200;
  };

const user = contests(
  'a user',
  async (bench) => {
    const { mount, path } = await newUser(bench);
    return {
      path,
      acts: [
        {
          name: 'their policies',
          method: 'POST',
          path: `${path}/policies`,
          body: { token_policies: ['less'] },
          shows: reads(bench, path, 'token_policies', ['less']),
        },
        {
          name: 'their password',
          method: 'POST',
          path: `${path}/password`,
          body: { password: 'battery staple' },
          shows: lets(bench, mount, 'battery staple'),
        },
        {
          name: 'their lifetime',
          method: 'POST',
          path,
          body: { token_max_ttl: 120 },
          shows: reads(bench, path, 'token_max_ttl', 120),
        },
        { name: 'their removal', method: 'DELETE', path },
      ],
    };
  },
  ['their policies', 'their password', 'their lifetime', 'their removal'],
);

const tokenRole = contests(
  'a token role',
  async (bench) => {
    const path = `auth/token/roles/role${bench.next()}`;
    await must(bench.maker.call('POST', path, { allowed_policies: ['much', 'more'] }));
    return {
      path,
      acts: [
        {
          name: 'its policies',
          method: 'POST',
          path,
          body: { allowed_policies: ['less'] },
          shows: reads(bench, path, 'allowed_policies', ['less']),
        },
        {
          name: 'its period',
          method: 'POST',
          path,
          body: { token_period: 120 },
          shows: reads(bench, path, 'token_period', 120),
        },
        { name: 'its removal', method: 'DELETE', path },
      ],
    };
  },
  ['its policies', 'its period', 'its removal'],
);

const between: ContestCase[] = [
  {
    name: 'a secret ID and the uses that its role gives',
    async setUp(bench) {
      const path = await newApprole(bench);
      const narrowing = { method: 'POST', path, body: { secret_id_num_uses: 1 } };
      return {
        one: narrowing,
        other: { method: 'POST', path: `${path}/secret-id`, body: {} },
        async judge({ quicker, slower }) {
          assert.ok(slower.reply.status < 300, slower.reply.text);
          if (quicker.by !== narrowing) return;
          assert.equal(slower.reply.field('data.secret_id_num_uses'), 1);
        },
      };
    },
  },
  {
    name: 'two roles and one ID in two spellings',
    async setUp(bench) {
      const path = await newApprole(bench);
      const second = path.replace(/web$/, 'second');
      await must(bench.maker.call('POST', second, {}));
      const taking = (role: string, role_id: string): Contender => ({
        method: 'POST',
        path: `${role}/role-id`,
        body: { role_id },
      });
      return {
        one: taking(path, 'Boss-É'),
        other: taking(second, 'bOSS-é'),
        async judge({ slower }) {
          assert.equal(slower.reply.status, 400);
          assert.match(slower.reply.text, /in use by another role/);
        },
      };
    },
  },
  {
    name: 'a new role and another one that takes its ID in other letters',
    async setUp(bench) {
      const path = await newApprole(bench);
      const making = (name: string, role_id: string): Contender => ({
        method: 'POST',
        path: path.replace(/web$/, name),
        body: { role_id },
      });
      return {
        one: making('second', 'BOSS'),
        other: making('third', 'boss'),
        async judge({ slower }) {
          assert.equal(slower.reply.status, 400);
          assert.match(slower.reply.text, /in use by another role/);
        },
      };
    },
  },
  {
    name: 'two that make one role',
    async setUp(bench) {
      const path = (await newApprole(bench)).replace(/web$/, 'new');
      return {
        one: { method: 'POST', path, body: { token_max_ttl: 120 } },
        other: { method: 'POST', path, body: { token_policies: ['less'] } },
        async judge({ slower }) {
          assert.ok(slower.reply.status < 300, slower.reply.text);
          assert.equal(await reads(bench, path, 'token_max_ttl', 120)(), true);
          assert.equal(await reads(bench, path, 'token_policies', ['less'])(), true);
        },
      };
    },
  },
];

/** Somebody who may do nothing but choose a password of their own. */
const own: ContestCase = {
  name: 'a password of their own and the policies that they have',
  async setUp(bench) {
    const { mount, path } = await newUser(bench);
    const policy = `own${bench.next()}`;
    const text = `path "${path}/password" { capabilities = ["update"] }`;
    await must(bench.maker.call('PUT', `sys/policies/acl/${policy}`, { policy: text }));
    await must(bench.maker.call('POST', path, { token_policies: [policy, 'much'] }));
    const in_ = await must(
      bench.maker.call('POST', `auth/${mount}/login/ann`, { password: OLD }, { token: '' }),
    );
    const token = in_.textAt('auth.client_token');
    const password = 'battery staple';
    return {
      one: { method: 'POST', path: `${path}/password`, body: { password }, token },
      other: { method: 'POST', path: `${path}/policies`, body: { token_policies: [policy] } },
      async judge({ slower }) {
        assert.ok(slower.reply.status < 300, slower.reply.text);
        assert.equal(await reads(bench, path, 'token_policies', [policy])(), true);
        assert.equal(await lets(bench, mount, password)(), true);
      },
    };
  },
};

/** What somebody may do who has a policy with these capabilities on what they write. */
function limited(capability: 'create' | 'update', startsWith: 'nothing' | 'a role'): ContestCase {
  const [act, does] = startsWith === 'nothing' ? ['makes', 'made'] : ['changes', 'removed'];
  return {
    name: `who may only ${capability} ${act} a role, and one that is ${does} meanwhile`,
    async setUp(bench) {
      const path = `auth/token/roles/role${bench.next()}`;
      const policy = `limited${bench.next()}`;
      const text = `path "${path}" { capabilities = ["${capability}"] }`;
      await must(bench.maker.call('PUT', `sys/policies/acl/${policy}`, { policy: text }));
      const made = await must(
        bench.maker.call('POST', 'auth/token/create', { policies: [policy] }),
      );
      const token = made.textAt('auth.client_token');
      if (startsWith === 'a role') await must(bench.maker.call('POST', path, {}));
      const mine = { method: 'POST', path, body: { token_period: 120 }, token };
      const other =
        startsWith === 'nothing'
          ? { method: 'POST', path, body: { allowed_policies: ['theirs'] } }
          : { method: 'DELETE', path };
      return {
        one: mine,
        other,
        async judge({ quicker, slower }) {
          if (quicker.by === mine) return assert.ok(slower.reply.status < 300, slower.reply.text);
          // Permitted when there was one, it is told that it is gone; after that, nothing at all.
          const refused = startsWith === 'nothing' ? [403] : [400, 403];
          assert.ok(refused.includes(slower.reply.status), slower.reply.text);
          const read = await bench.remover.call('GET', path);
          assert.equal(read.status, startsWith === 'nothing' ? 200 : 404, read.text);
          assert.notEqual(read.field('data.token_period'), 120);
        },
      };
    },
  };
}

/** What a token with these capabilities on its own storage does to one entry, and what of that is refused. */
function stored(
  capabilities: readonly string[],
  starts: 'empty' | 'full',
  [one, other]: readonly ['POST', 'POST' | 'DELETE'],
  refused: readonly number[],
): ContestCase {
  return {
    name: `${one} and ${other} of one entry, which is ${starts}, by a token that may ${capabilities.join(' and ')}`,
    async setUp({ maker, next }) {
      const path = `cubbyhole/entry${next()}`;
      const policy = `stored${next()}`;
      const list = [...capabilities, 'read'].map((name) => `"${name}"`).join(', ');
      const text = `path "${path}" { capabilities = [${list}] }`;
      await must(maker.call('PUT', `sys/policies/acl/${policy}`, { policy: text }));
      const made = await must(
        maker.call('POST', 'auth/token/create', { policies: [policy], no_default_policy: true }),
      );
      const token = made.textAt('auth.client_token');
      if (starts === 'full') await fill(maker, { path, policy, text, token });
      const writes = (method: 'POST' | 'DELETE', value: string) =>
        method === 'POST' ? { method, path, body: { value }, token } : { method, path, token };
      const [a, b] = [writes(one, 'a'), writes(other, 'b')];
      return {
        one: a,
        other: b,
        async judge({ quicker, slower }) {
          assert.equal(quicker.reply.status, 204, quicker.reply.text);
          const isRefused = slower.by.method === 'POST' && refused.length > 0;
          const wanted = isRefused ? refused : [204];
          assert.ok(wanted.includes(slower.reply.status), slower.reply.text);
          const last = isRefused ? quicker.by : slower.by;
          const read = await maker.call('GET', path, undefined, { token });
          const value = last === a ? 'a' : last.method === 'POST' ? 'b' : undefined;
          assert.equal(read.field('data.value'), value);
        },
      };
    },
  };
}

/** Has a token that may not make an entry have one, as its policy was another one before. */
async function fill(
  maker: Bench['maker'],
  own: { path: string; policy: string; text: string; token: string },
): Promise<void> {
  const all = `path "${own.path}" { capabilities = ["create"] }`;
  const { token } = own;
  await must(maker.call('PUT', `sys/policies/acl/${own.policy}`, { policy: all }));
  await must(maker.call('POST', own.path, { value: 'old' }, { token }));
  await must(maker.call('PUT', `sys/policies/acl/${own.policy}`, { policy: own.text }));
}

contestAll('what is kept by one token at once', [
  stored(['create'], 'empty', ['POST', 'POST'], [403]),
  stored(['create', 'update'], 'empty', ['POST', 'POST'], []),
  stored(['update'], 'full', ['POST', 'POST'], []),
  stored(['update', 'delete'], 'full', ['POST', 'DELETE'], [400, 403]),
]);
contestAll('what is done to one thing at once', [...approle, ...user, ...tokenRole]);
contestAll('what is made at once', [
  ...between,
  own,
  limited('create', 'nothing'),
  limited('update', 'a role'),
]);
