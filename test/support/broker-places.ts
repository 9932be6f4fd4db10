// People and places of the broker's side, for the tables of races.

import { type Bench, must } from './racing.ts';
import type { Reply } from './server.ts';

export async function make({ maker }: Bench, plural: string, body: object): Promise<string> {
  return (await must(maker.call('POST', plural, body))).textAt('id');
}

/** Somebody with an account of an auth method in an org of their own. */
export interface Person {
  org: string;
  method: string;
  account: string;
  user: string;
  login_name: string;
}

export async function newPerson(bench: Bench): Promise<Person> {
  const login_name = `person-${bench.next()}`;
  const org = await make(bench, 'scopes', { scope_id: 'global' });
  const method = await make(bench, 'auth-methods', { scope_id: org, type: 'password' });
  const attributes = { login_name, password: 'correct horse' };
  const account = await make(bench, 'accounts', { auth_method_id: method, attributes });
  const user = await make(bench, 'users', { scope_id: org });
  const given = { version: 1, account_ids: [account] };
  await must(bench.maker.call('POST', `users/${user}:add-accounts`, given));
  return { org, method, account, user, login_name };
}

export const logInPath = ({ method }: Person): string => `auth-methods/${method}:authenticate`;

export const logIn = ({ maker }: Bench, person: Person): Promise<Reply> =>
  maker.call(
    'POST',
    logInPath(person),
    { attributes: { login_name: person.login_name, password: 'correct horse' } },
    { token: '' },
  );

/** The same person with an account of another auth method: that by which they came first is gone. */
export async function outliveMethod(bench: Bench, person: Person): Promise<Person> {
  const { call } = bench.maker;
  const { org, user, login_name } = person;
  const method = await make(bench, 'auth-methods', { scope_id: org, type: 'password' });
  const attributes = { login_name, password: 'correct horse' };
  const account = await make(bench, 'accounts', { auth_method_id: method, attributes });
  const { version } = JSON.parse((await must(call('GET', `users/${user}`))).text);
  await must(call('POST', `users/${user}:add-accounts`, { version, account_ids: [account] }));
  await must(call('DELETE', `auth-methods/${person.method}`));
  return { ...person, method, account };
}

/** The path of the alias by which an entity is a user of the broker's. */
export async function aliasPath(
  { maker }: Bench,
  entity: string,
  { user }: Pick<Person, 'user'>,
): Promise<string> {
  const read = await must(maker.call('GET', `identity/entity/id/${entity}`));
  const { data } = JSON.parse(read.text) as { data: { aliases: { id: string; name: string }[] } };
  const alias = data.aliases.find(({ name }) => name === user);
  return `identity/entity-alias/id/${alias?.id ?? 'none'}`;
}

/** Somebody who may use a target that is reached through a host set and brings a credential. */
export interface Place {
  person: Person;
  token: string;
  role: string;
  /** With nobody but the person in it; it has the role where they do not have it themselves. */
  group: string;
  project: string;
  catalog: string;
  host_set: string;
  host: string;
  store: string;
  credential: string;
  target: string;
}

/** Somebody who is logged in and stays so: hashing passwords for every place would take longest. */
const somebody = new WeakMap<Bench, Promise<LoggedIn>>();

interface LoggedIn {
  person: Person;
  token: string;
}

async function logInNew(bench: Bench): Promise<LoggedIn> {
  const person = await newPerson(bench);
  return { person, token: (await must(logIn(bench, person))).textAt('attributes.token') };
}

function shared(bench: Bench): Promise<LoggedIn> {
  const known = somebody.get(bench) ?? logInNew(bench);
  somebody.set(bench, known);
  return known;
}

/** How a place differs from others. */
export interface PlaceOptions {
  /** Who the role is given to. */
  permitted?: 'user' | 'group';
  /** Nobody else depends on the person, their org and their log-in. */
  own?: boolean;
}

export async function newPlace(
  bench: Bench,
  { permitted = 'user', own = false }: PlaceOptions = {},
): Promise<Place> {
  const { call } = bench.maker;
  const { person, token } = await (own ? logInNew(bench) : shared(bench));
  const project = await make(bench, 'scopes', { scope_id: person.org });
  const group = await make(bench, 'groups', { scope_id: person.org });
  const member_ids = [person.user];
  await must(call('POST', `groups/${group}:add-members`, { version: 1, member_ids }));
  const role = await make(bench, 'roles', { scope_id: project });
  const principals = {
    version: 1,
    principal_ids: [permitted === 'user' ? person.user : group],
  };
  await must(call('POST', `roles/${role}:add-principals`, principals));
  const grant_strings = ['ids=*;type=target;actions=authorize-session'];
  await must(call('POST', `roles/${role}:add-grants`, { version: 2, grant_strings }));
  const catalog = await make(bench, 'host-catalogs', { scope_id: project, type: 'static' });
  const attributes = { address: '10.0.0.5' };
  const host = await make(bench, 'hosts', { host_catalog_id: catalog, attributes });
  const host_set = await make(bench, 'host-sets', { host_catalog_id: catalog });
  await must(call('POST', `host-sets/${host_set}:add-hosts`, { version: 1, host_ids: [host] }));
  const store = await make(bench, 'credential-stores', { scope_id: project, type: 'static' });
  const credential = await make(bench, 'credentials', {
    credential_store_id: store,
    type: 'username_password',
    attributes: { username: 'ann', password: 'a password' },
  });
  const target = await make(bench, 'targets', {
    scope_id: project,
    type: 'tcp',
    name: `target-${bench.next()}`,
    attributes: { default_port: 22 },
  });
  await must(
    call('POST', `targets/${target}:add-host-sources`, { version: 1, host_source_ids: [host_set] }),
  );
  const brokered_credential_source_ids = [credential];
  await must(
    call('POST', `targets/${target}:add-credential-sources`, {
      version: 2,
      brokered_credential_source_ids,
    }),
  );
  return {
    person,
    token,
    role,
    group,
    project,
    catalog,
    host_set,
    host,
    store,
    credential,
    target,
  };
}

export const versionOf = async ({ remover }: Bench, path: string): Promise<unknown> =>
  (await must(remover.call('GET', path))).field('version');
