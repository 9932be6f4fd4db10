// Two requests at once that change what refers to what on the broker's side.

import assert from 'node:assert/strict';
import { make, newPerson, versionOf } from '../support/broker-places.ts';
import {
  type Answered,
  type Bench,
  type Contender,
  type ContestCase,
  contestAll,
  must,
} from '../support/racing.ts';

/** A resource that refers to another one, by a verb or a field, and the other one's removal. */
interface Reference {
  name: string;
  setUp(bench: Bench): Promise<{ refer: Contender; remove: string; at: string; field: string }>;
}

const isRefusal = ({ reply }: Answered): void =>
  assert.ok([400, 404].includes(reply.status), `${reply.status} ${reply.text}`);
const isGrant = ({ reply }: Answered): void =>
  assert.ok(reply.status < 300, `${reply.status} ${reply.text}`);

/** Nothing refers to what is gone, whoever was quicker. */
const referring = ({ name, setUp }: Reference): ContestCase => ({
  name: `${name}: nothing refers to what is gone`,
  async setUp(bench) {
    const { refer, remove, at, field } = await setUp(bench);
    return {
      one: refer,
      other: { method: 'DELETE', path: remove },
      async judge({ slower }) {
        if (slower.by === refer) isRefusal(slower);
        else isGrant(slower);
        assert.equal((await bench.maker.call('GET', remove)).status, 404);
        const left = await must(bench.maker.call('GET', at));
        assert.equal(left.field(field), undefined, left.text);
      },
    };
  },
});

/** @param version what the resource has, unless it is new */
const adding = (path: string, verb: string, field: string, id: string, version = 1) => ({
  refer: { method: 'POST', path: `${path}:${verb}`, body: { version, [field]: [id] } },
  at: path,
  field,
});

const newOrg = (bench: Bench): Promise<string> => make(bench, 'scopes', { scope_id: 'global' });
const newProject = async (bench: Bench): Promise<string> =>
  make(bench, 'scopes', { scope_id: await newOrg(bench) });
const newMethod = (bench: Bench, scope_id: string): Promise<string> =>
  make(bench, 'auth-methods', { scope_id, type: 'password' });
const newTarget = (bench: Bench, scope_id: string): Promise<string> =>
  make(bench, 'targets', {
    scope_id,
    type: 'tcp',
    name: `target-${bench.next()}`,
    attributes: { default_port: 22 },
  });

const references: Reference[] = [
  {
    name: "a scope's primary auth method and its removal",
    async setUp(bench) {
      const org = await newOrg(bench);
      const primary_auth_method_id = await newMethod(bench, org);
      return {
        refer: {
          method: 'PATCH',
          path: `scopes/${org}`,
          body: { version: 1, primary_auth_method_id },
        },
        remove: `auth-methods/${primary_auth_method_id}`,
        at: `scopes/${org}`,
        field: 'primary_auth_method_id',
      };
    },
  },
  {
    name: "a role's principal and its removal",
    async setUp(bench) {
      const org = await newOrg(bench);
      const user = await make(bench, 'users', { scope_id: org });
      const role = `roles/${await make(bench, 'roles', { scope_id: org })}`;
      return {
        ...adding(role, 'add-principals', 'principal_ids', user),
        remove: `users/${user}`,
      };
    },
  },
  {
    name: "a group's member and its removal",
    async setUp(bench) {
      const org = await newOrg(bench);
      const user = await make(bench, 'users', { scope_id: org });
      const group = `groups/${await make(bench, 'groups', { scope_id: org })}`;
      return { ...adding(group, 'add-members', 'member_ids', user), remove: `users/${user}` };
    },
  },
  {
    name: "a user's account and its removal",
    async setUp(bench) {
      const { org, account, user } = await newPerson(bench);
      const body = { version: 2, account_ids: [] };
      await must(bench.maker.call('POST', `users/${user}:set-accounts`, body));
      const other = `users/${await make(bench, 'users', { scope_id: org })}`;
      return {
        ...adding(other, 'add-accounts', 'account_ids', account),
        remove: `accounts/${account}`,
      };
    },
  },
  {
    name: "a host set's host and its removal",
    async setUp(bench) {
      const scope_id = await newProject(bench);
      const host_catalog_id = await make(bench, 'host-catalogs', { scope_id, type: 'static' });
      const attributes = { address: '10.0.0.5' };
      const host = await make(bench, 'hosts', { host_catalog_id, attributes });
      const set = `host-sets/${await make(bench, 'host-sets', { host_catalog_id })}`;
      return { ...adding(set, 'add-hosts', 'host_ids', host), remove: `hosts/${host}` };
    },
  },
  {
    name: "a target's host set and its removal",
    async setUp(bench) {
      const scope_id = await newProject(bench);
      const host_catalog_id = await make(bench, 'host-catalogs', { scope_id, type: 'static' });
      const set = await make(bench, 'host-sets', { host_catalog_id });
      const target = `targets/${await newTarget(bench, scope_id)}`;
      return {
        ...adding(target, 'add-host-sources', 'host_source_ids', set),
        remove: `host-sets/${set}`,
      };
    },
  },
  {
    name: "an alias's target and its removal",
    async setUp(bench) {
      const target = await newTarget(bench, await newProject(bench));
      const alias = await make(bench, 'aliases', {
        scope_id: 'global',
        type: 'target',
        value: `alias-${bench.next()}.test`,
      });
      return {
        refer: {
          method: 'PATCH',
          path: `aliases/${alias}`,
          body: { version: 1, destination_id: target },
        },
        remove: `targets/${target}`,
        at: `aliases/${alias}`,
        field: 'destination_id',
      };
    },
  },
];

/** Something that is made in a place that goes. */
const made = (
  name: string,
  setUp: (bench: Bench) => Promise<{ plural: string; body: object; place: string }>,
): ContestCase => ({
  name: `${name}: nothing is left where nothing is`,
  async setUp(bench) {
    const { plural, body, place } = await setUp(bench);
    return {
      one: { method: 'POST', path: plural, body },
      other: { method: 'DELETE', path: place },
      async judge({ quicker, slower }) {
        if (slower.by.method === 'POST') return isRefusal(slower);
        isGrant(slower);
        const id = quicker.reply.textAt('id');
        assert.equal((await bench.maker.call('GET', `${plural}/${id}`)).status, 404);
      },
    };
  },
});

/** Two requests for one thing that only one may have. */
const single = (
  name: string,
  setUp: (bench: Bench) => Promise<[Contender, Contender]>,
): ContestCase => ({
  name: `${name}: one is refused`,
  async setUp(bench) {
    const [one, other] = await setUp(bench);
    return { one, other, judge: async ({ slower }) => isRefusal(slower) };
  },
});

const post = (path: string, body: object): Contender => ({ method: 'POST', path, body });

contestAll('what refers to each other', [
  ...references.map(referring),
  made('a project in an org that goes', async (bench) => {
    const org = await newOrg(bench);
    return { plural: 'scopes', body: { scope_id: org }, place: `scopes/${org}` };
  }),
  made('a target in a project that goes', async (bench) => {
    const scope_id = await newProject(bench);
    const body = { scope_id, type: 'tcp', name: 'late', attributes: { default_port: 22 } };
    return { plural: 'targets', body, place: `scopes/${scope_id}` };
  }),
  made('a target in a project whose org goes', async (bench) => {
    const org = await newOrg(bench);
    const scope_id = await make(bench, 'scopes', { scope_id: org });
    const body = { scope_id, type: 'tcp', name: 'late', attributes: { default_port: 22 } };
    return { plural: 'targets', body, place: `scopes/${org}` };
  }),
  made('an account of a method that goes', async (bench) => {
    const auth_method_id = await newMethod(bench, await newOrg(bench));
    const attributes = { login_name: 'late' };
    const body = { auth_method_id, attributes };
    return { plural: 'accounts', body, place: `auth-methods/${auth_method_id}` };
  }),
  single('one account for two users', async (bench) => {
    const org = await newOrg(bench);
    const auth_method_id = await newMethod(bench, org);
    const attributes = { login_name: 'ann' };
    const account = await make(bench, 'accounts', { auth_method_id, attributes });
    const give = async (): Promise<Contender> => {
      const user = await make(bench, 'users', { scope_id: org });
      return post(`users/${user}:add-accounts`, { version: 1, account_ids: [account] });
    };
    return [await give(), await give()];
  }),
  single('one login name for two accounts', async (bench) => {
    const auth_method_id = await newMethod(bench, await newOrg(bench));
    const account = post('accounts', { auth_method_id, attributes: { login_name: 'ann' } });
    return [account, account];
  }),
  single('one alias for two targets, in capitals and not', async (bench) => {
    const project = await newProject(bench);
    const value = `alias-${bench.next()}.test`;
    const alias = async (text: string): Promise<Contender> =>
      post('aliases', {
        scope_id: 'global',
        type: 'target',
        value: text,
        destination_id: await newTarget(bench, project),
      });
    return [await alias(value), await alias(value.toUpperCase())];
  }),
  single('one name for two targets of a project', async (bench) => {
    const scope_id = await newProject(bench);
    const target = post('targets', {
      scope_id,
      type: 'tcp',
      name: 'same',
      attributes: { default_port: 22 },
    });
    return [target, target];
  }),
  single('an address and a host set for one target', async (bench) => {
    const scope_id = await newProject(bench);
    const host_catalog_id = await make(bench, 'host-catalogs', { scope_id, type: 'static' });
    const set = await make(bench, 'host-sets', { host_catalog_id });
    const target = `targets/${await newTarget(bench, scope_id)}`;
    return [
      { method: 'PATCH', path: target, body: { version: 1, address: '10.0.0.5' } },
      post(`${target}:add-host-sources`, { version: 1, host_source_ids: [set] }),
    ];
  }),
]);

contestAll('who removes and who changes at once', [
  {
    name: 'an auth method that is the primary one goes while its scope is renamed: both are done',
    async setUp(bench) {
      const org = await newOrg(bench);
      const primary_auth_method_id = await newMethod(bench, org);
      const path = `scopes/${org}`;
      await must(bench.maker.call('PATCH', path, { version: 1, primary_auth_method_id }));
      const version = await versionOf(bench, path);
      return {
        one: { method: 'DELETE', path: `auth-methods/${primary_auth_method_id}` },
        other: { method: 'PATCH', path, body: { version, name: `renamed-${bench.next()}` } },
        async judge({ slower }) {
          // Whoever changes the scope knows one version of it; whoever removes the method does not.
          if (slower.by.method === 'PATCH') assert.equal(slower.reply.status, 404);
          else isGrant(slower);
          const left = await must(bench.maker.call('GET', path));
          assert.equal(left.field('primary_auth_method_id'), undefined, left.text);
        },
      };
    },
  },
]);
