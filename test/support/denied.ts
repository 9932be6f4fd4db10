import assert from 'node:assert/strict';
import type { Client } from './server.ts';

/** A request by somebody, answered with its status. */
export type Ask = (method: string, path: string, body?: object) => Promise<number>;

export const deny = (path: string): string => `path "${path}" { capabilities = ["deny"] }`;

/** Somebody who may do anything but for some stanzas, written beside that. */
export async function personWith(client: Client, name: string, stanzas: string): Promise<Ask> {
  const policy = `path "*" { capabilities = ["create","read","update","patch","delete","list","sudo"] }\n${stanzas}`;
  await client.call('PUT', `sys/policies/acl/${name}`, { policy });
  const made = await client.call('POST', 'auth/token/create', { policies: [name], ttl: '1h' });
  const token = made.textAt('auth.client_token');
  assert.notEqual(token, '', made.text);
  return async (method, path, body) => (await client.call(method, path, body, { token })).status;
}
