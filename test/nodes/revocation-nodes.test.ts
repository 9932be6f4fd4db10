// A revocation against a token that makes others, and those again others, as fast as it can, on other
// nodes than the one that revokes.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { newDirectory } from '../support/node-process.ts';
import { configAt } from '../support/placed-server.ts';
import { callAs, must } from '../support/racing.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

type Call = ReturnType<typeof callAs>;

/** Somebody's token, and how it is ended. */
interface Revocation {
  token: string;
  revoke(): Promise<Reply>;
  /** Whether those that it made live on, those that they made included. */
  leavesChildren?: boolean;
}

const EVERYTHING = 'path "*" { capabilities = ["create", "read", "update", "list", "sudo"] }';
const CHILD = { policies: ['all'], ttl: '1h' };
/** Of a token that is not there any more, or was not when the child was to be written. */
const REFUSED = [400, 403];
const PASSWORD = 'correct horse';

/** Children that there must be before the revocation begins, so that it meets the storm. */
const BEFORE = 24;
const MAKERS = 6;

eachPlace('a token that makes children', (newPlace, engine) => {
  const stops: (() => Promise<void>)[] = [];
  let makers: Client['call'][] = [];
  let remote: Client['call'];
  let root: Call;
  let count = 0;

  before(async () => {
    const scope = { after: (stop: () => Promise<void>) => void stops.push(stop) };
    const place = await newPlace();
    const directory = newDirectory(scope);
    const start = (node_name: string): Promise<Client> =>
      startTestServer(scope, { config: configAt(place, directory, { node_name }) });
    const first = await start('a');
    const made = await first.call('PUT', 'sys/init', {}, { token: '' });
    const others = engine === 'postgres' ? [await start('b'), await start('c')] : [];
    const remover = others.pop() ?? first;
    makers = [first, ...others].map(({ call }) => call);
    remote = remover.call;
    root = callAs(remote, made.textAt('root_token'));
    await must(root('PUT', 'sys/policies/acl/all', { policy: EVERYTHING }));
  });
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });

  const newToken = async (more: object = {}): Promise<Reply> =>
    must(root('POST', 'auth/token/create', { policies: ['all'], ...more }));

  const byRequest = async (
    path: string,
    body: (made: Reply) => object,
    more: { own?: boolean; leavesChildren?: boolean } = {},
  ): Promise<Revocation> => {
    const made = await newToken();
    const token = made.textAt('auth.client_token');
    const call = more.own ? callAs(remote, token) : root;
    return { token, revoke: () => call('POST', path, body(made)), ...more };
  };

  /** Logs in through a method of its own, which `remove` ends. */
  const logInAt = async (): Promise<{ token: string; mount: string }> => {
    const mount = `people${++count}`;
    await must(root('POST', `sys/auth/${mount}`, { type: 'userpass' }));
    const person = { password: PASSWORD, token_policies: 'all' };
    await must(root('POST', `auth/${mount}/users/ann`, person));
    const made = await must(root('POST', `auth/${mount}/login/ann`, { password: PASSWORD }));
    return { token: made.textAt('auth.client_token'), mount };
  };

  /** Logs in at the broker, where `remove` ends what the log-in stands on. */
  const logInAtBroker = async () => {
    const make = async (plural: string, body: object): Promise<string> =>
      (await must(root('POST', plural, body))).textAt('id');
    const login_name = `person-${++count}`;
    const org = await make('scopes', { scope_id: 'global' });
    const method = await make('auth-methods', { scope_id: org, type: 'password' });
    const attributes = { login_name, password: PASSWORD };
    const account = await make('accounts', { auth_method_id: method, attributes });
    const user = await make('users', { scope_id: org });
    await must(root('POST', `users/${user}:add-accounts`, { version: 1, account_ids: [account] }));
    const made = await must(root('POST', `auth-methods/${method}:authenticate`, { attributes }));
    const token = made.textAt('attributes.token');
    const self = await must(callAs(remote, token)('GET', 'auth/token/lookup-self'));
    const entity = `identity/entity/id/${self.textAt('data.entity_id')}`;
    await must(root('POST', entity, { policies: ['all'] }));
    return { token, org, method, account, user, log_in: made.textAt('attributes.id') };
  };

  const atBroker =
    (
      pathOf: (made: Awaited<ReturnType<typeof logInAtBroker>>) => string,
    ): (() => Promise<Revocation>) =>
    async () => {
      const made = await logInAtBroker();
      return { token: made.token, revoke: () => root('DELETE', pathOf(made)) };
    };

  const atMount =
    (pathOf: (mount: string) => string): (() => Promise<Revocation>) =>
    async () => {
      const { token, mount } = await logInAt();
      return { token, revoke: () => root('DELETE', pathOf(mount)) };
    };

  const text = (made: Reply) => ({ token: made.textAt('auth.client_token') });
  const accessor = (made: Reply) => ({ accessor: made.textAt('auth.accessor') });
  const cases: [name: string, prepare: () => Promise<Revocation>][] = [
    ['its text', () => byRequest('auth/token/revoke', text)],
    ['its accessor', () => byRequest('auth/token/revoke-accessor', accessor)],
    ['itself', () => byRequest('auth/token/revoke-self', () => ({}), { own: true })],
    [
      'a revocation that leaves its children',
      () => byRequest('auth/token/revoke-orphan', text, { leavesChildren: true }),
    ],
    ['the end of its auth mount', atMount((mount) => `sys/auth/${mount}`)],
    ['the end of its log-in', atBroker(({ log_in }) => `auth-tokens/${log_in}`)],
    ['the end of its user', atBroker(({ user }) => `users/${user}`)],
    ['the end of its account', atBroker(({ account }) => `accounts/${account}`)],
    ['the end of its auth method', atBroker(({ method }) => `auth-methods/${method}`)],
    ['the end of its scope', atBroker(({ org }) => `scopes/${org}`)],
  ];

  for (const [name, prepare] of cases) {
    test(`is ended by ${name}, at once`, async () => {
      const { token, revoke, leavesChildren = false } = await prepare();
      const made: string[] = [];
      const begun = Promise.withResolvers<void>();
      let over = false;
      const make = async (call: Client['call'], parent: string): Promise<void> => {
        while (!over) {
          const reply = await callAs(call, parent)('POST', 'auth/token/create', CHILD);
          if (reply.status !== 200) {
            assert.ok(REFUSED.includes(reply.status), `${reply.status} ${reply.text}`);
            return;
          }
          const child = reply.textAt('auth.client_token');
          made.push(child);
          if (made.length === BEFORE) begun.resolve();
          // Every other one goes on below what it has just made.
          if (made.length % 2 === 0) parent = child;
        }
      };
      // It ends by itself only where the revocation has won.
      const storm = Promise.all(
        makers.flatMap((call) => Array.from({ length: MAKERS }, () => make(call, token))),
      );
      await Promise.race([begun.promise, storm]);
      const revoked = await revoke();
      over = leavesChildren || revoked.status >= 300;
      await storm;
      assert.ok(made.length >= BEFORE, `${made.length} were made`);
      assert.ok(revoked.status < 300, `${revoked.status} ${revoked.text}`);
      for (const [at, of] of [token, ...made].entries()) {
        const self = await callAs(remote, of)('GET', 'auth/token/lookup-self');
        assert.equal(self.status, leavesChildren && at > 0 ? 200 : 403, self.text);
      }
    });
  }
});
