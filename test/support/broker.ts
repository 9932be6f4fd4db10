import assert from 'node:assert/strict';
import type { Client, Reply } from './server.ts';

/** A person of the broker's API: calls with their token. */
export interface Person {
  user_id: string;
  token: string;
  auth_token_id: string;
  call(method: string, path: string, body?: unknown): Promise<Reply>;
}

/** A project with whoever administers everything, over the broker's API. */
export interface Project {
  org_id: string;
  id: string;
  auth_method_id: string;
  admin: Person;
  /** Somebody new with a role in the project. */
  addPerson(name: string, grant_strings: readonly string[]): Promise<Person>;
}

const PASSWORD = 'correct horse';

/** As somebody who repairs: allowed everything, without a log-in. */
export async function repair(
  server: Pick<Client, 'call'>,
  path: string,
  body: unknown,
  method = 'POST',
): Promise<Reply> {
  const reply = await server.call(method, path, body);
  assert.equal(reply.status, 200, `${path}: ${reply.text}`);
  return reply;
}

/** Makes an org and a project with an administrator of everything. */
export async function makeProject(server: Pick<Client, 'call'>): Promise<Project> {
  const make = async (path: string, body: unknown): Promise<string> =>
    (await repair(server, path, body)).textAt('id');
  const auth_method_id = await make('auth-methods', { scope_id: 'global', type: 'password' });
  const org_id = await make('scopes', { scope_id: 'global', name: 'org' });
  const id = await make('scopes', { scope_id: org_id, name: 'project' });
  const addPerson: Project['addPerson'] = async (name, grant_strings) => {
    const account = await make('accounts', {
      auth_method_id,
      attributes: { login_name: name, password: PASSWORD },
    });
    const user_id = await make('users', { scope_id: 'global', name });
    await repair(server, `users/${user_id}:add-accounts`, { version: 1, account_ids: [account] });
    const role = await make('roles', { scope_id: 'global', name: `role of ${name}` });
    await repair(server, `roles/${role}:add-principals`, { version: 1, principal_ids: [user_id] });
    await repair(server, `roles/${role}:set-grants`, { version: 2, grant_strings });
    await repair(server, `roles/${role}:set-grant-scopes`, {
      version: 3,
      grant_scope_ids: ['this', 'descendants'],
    });
    return logIn(server, auth_method_id, name);
  };
  const admin = await addPerson('admin', ['ids=*;type=*;actions=*']);
  return { org_id, id, auth_method_id, admin, addPerson };
}

export async function logIn(
  server: Pick<Client, 'call'>,
  auth_method_id: string,
  name: string,
): Promise<Person> {
  const reply = await server.call(
    'POST',
    `auth-methods/${auth_method_id}:authenticate`,
    { command: 'login', attributes: { login_name: name, password: PASSWORD } },
    { token: '' },
  );
  assert.equal(reply.status, 200, reply.text);
  const token = reply.textAt('attributes.token');
  return {
    token,
    user_id: reply.textAt('attributes.user_id'),
    auth_token_id: reply.textAt('attributes.id'),
    call: (method, path, body) =>
      server.call(method, path, body, {
        token: '',
        headers: { authorization: `Bearer ${token}` },
      }),
  };
}
