import assert from 'node:assert/strict';
import type { Config } from '../../src/config/config.ts';
import type { Overrides } from '../../src/start/server.ts';
import type { Place } from './engines.ts';
import { newDirectory, type Scope, settingsOf } from './node-process.ts';
import { type Client, callOver, startTestServer } from './server.ts';

/** What of its configuration makes a server in this process work at a place, sealed until it is initialized. */
export function configAt(
  place: Place,
  directory: string,
  { node_name = 'a', seal: type = 'keyfile' }: { node_name?: string; seal?: 'keyfile' | 'shamir' },
): Pick<Config, 'mode' | 'dev_root_token' | 'storage' | 'seal'> {
  const { storage, seal } = settingsOf(place, directory, node_name);
  return {
    mode: 'server',
    dev_root_token: undefined,
    storage: storage.type === 'sqlite' ? { type: storage.type, directory: storage.path } : storage,
    seal: type === 'shamir' ? { type } : seal,
  };
}

/** Starts a server at a new place and initializes it. @returns it, called with its root token */
export async function startServerAt(
  scope: Scope,
  place: Place,
  substitutes: Overrides = {},
): Promise<Client> {
  const config = configAt(place, newDirectory(scope), {});
  const client = await startTestServer(scope, { ...substitutes, config });
  const made = await client.call('PUT', 'sys/init', {}, { token: '' });
  const root = made.textAt('root_token');
  assert.notEqual(root, '', made.text);
  return { ...client, call: callOver(client.url, root) };
}
