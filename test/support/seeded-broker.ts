import assert from 'node:assert/strict';
import type { Config } from '../../src/config/config.ts';
import { SEED_DEFAULTS } from '../../src/config/seed.ts';
import type { Overrides } from '../../src/start/server.ts';
import type { Place } from './engines.ts';
import { type Client, type Reply, startTestServer } from './server.ts';

/** A request by somebody. */
export type Call = (method: string, path: string, body?: unknown) => Promise<Reply>;

/** Somebody with a log-in of their own. */
export interface Person {
  call: Call;
  token: string;
  login_name: string;
  user_id: string;
  account_id: string;
  /** The role that gives them what they were given; empty for nothing. */
  role_id: string;
}

/** A server whose broker has an administrator, an org, a project and a way to log in. */
export interface Broker {
  client: Client;
  admin: Call;
  admin_token: string;
  nobody: Call;
  org: string;
  project: string;
  auth_method: string;
  as(token: string): Call;
  logIn(login_name: string, password?: string): Promise<string>;
  /** Makes something as the administrator, and gives back its id. */
  make(plural: string, body: object): Promise<string>;
  /**
   * Makes a person.
   *
   * @param grants of a role in `scope_id` (the global one), for `grant_scope_ids`
   */
  person(
    grants: readonly string[],
    where?: { scope_id?: string; grant_scope_ids?: readonly string[] },
  ): Promise<Person>;
}

export const ORG = 'o_1234567890';
export const PROJECT = 'p_1234567890';
export const AUTH_METHOD = 'ampw_1234567890';

/** Starts a server with the seed data, on an engine's place if one is given. */
export async function startBroker(
  test: { after(stop: () => Promise<void>): void },
  options: {
    place?: Place;
    directory?: string;
    config?: Partial<Config>;
    on_one?: string;
  } & Overrides = {},
): Promise<Broker> {
  const { place, config, ...others } = options;
  const client = await startTestServer(test, {
    ...others,
    config: { seed: SEED_DEFAULTS, ...(place ? { storage: storageOf(place) } : {}), ...config },
  });
  assert.equal(client.running.notice, undefined, 'the seed data is there');
  return brokerOver(client);
}

export function storageOf(place: Place): Config['storage'] {
  const options = place.options();
  if (options.engine === 'postgres') {
    return { type: 'postgres', url: options.url, node_name: options.node_name };
  }
  return { type: 'sqlite', directory: options.directory };
}

/** The broker of a server that has the seed data. */
export async function brokerOver(client: Client): Promise<Broker> {
  const as =
    (token: string): Call =>
    (method, path, body) =>
      client.call(method, path, body, {
        token: '',
        headers: token === '' ? {} : { authorization: `Bearer ${token}` },
      });
  const nobody = as('');
  const logIn = async (login_name: string, password = 'password'): Promise<string> => {
    const path = `auth-methods/${AUTH_METHOD}:authenticate`;
    const answer = await nobody('POST', path, { attributes: { login_name, password } });
    assert.equal(answer.status, 200, answer.text);
    return answer.textAt('attributes.token');
  };
  const admin_token = await logIn('admin');
  const admin = as(admin_token);
  const make = async (plural: string, body: object): Promise<string> => {
    const made = await admin('POST', plural, body);
    assert.equal(made.status, 200, `${plural}: ${made.text}`);
    return made.textAt('id');
  };
  let people = 0;
  return {
    client,
    admin,
    admin_token,
    nobody,
    org: ORG,
    project: PROJECT,
    auth_method: AUTH_METHOD,
    as,
    logIn,
    make,
    async person(grants, { scope_id = 'global', grant_scope_ids = ['this', 'descendants'] } = {}) {
      const login_name = `person-${people++}`;
      const account_id = await make('accounts', {
        auth_method_id: AUTH_METHOD,
        attributes: { login_name, password: 'password' },
      });
      const token = await logIn(login_name);
      const user_id = (await admin('GET', `auth-tokens/${tokenIdOf(token)}`)).textAt('user_id');
      let role_id = '';
      if (grants.length > 0) {
        role_id = await make('roles', { scope_id });
        const steps: [string, object][] = [
          ['set-grants', { grant_strings: grants }],
          ['set-grant-scopes', { grant_scope_ids }],
          ['set-principals', { principal_ids: [user_id] }],
        ];
        for (const [at, [verb, body]] of steps.entries()) {
          const path = `roles/${role_id}:${verb}`;
          const done = await admin('POST', path, { version: at + 1, ...body });
          assert.equal(done.status, 200, done.text);
        }
      }
      return { call: as(token), token, login_name, user_id, account_id, role_id };
    },
  };
}

/** The id that an auth token's text begins with. */
export const tokenIdOf = (token: string): string => token.split('_').slice(0, 2).join('_');

/** The fields that a refusal names, with what is said of each. */
export function refusedFields(answer: Reply): Record<string, string> {
  const fields = answer.field('details.request_fields');
  if (!Array.isArray(fields)) return {};
  return Object.fromEntries(
    fields.map(({ name, description }: { name: string; description: string }) => [
      name,
      description,
    ]),
  );
}

/** The ids of a list's items. */
export function listedIds(answer: Reply): string[] {
  const items = answer.field('items');
  return Array.isArray(items) ? items.map(({ id }: { id: string }) => id) : [];
}
