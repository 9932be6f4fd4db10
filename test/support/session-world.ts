/** Sessions that go on in a store, without a server. */

import { randomBytes } from 'node:crypto';
import type { App } from '../../src/app/app.ts';
import { insertLink } from '../../src/broker/resource/links/store.ts';
import type { Resource } from '../../src/broker/resource/resource.ts';
import { findResource, insertResource } from '../../src/broker/resource/store.ts';
import type { ResourceTypeName } from '../../src/broker/resource/types.ts';
import { keyPlace } from '../../src/broker/sessions/connections/carried-session.operations.ts';
import { insertSession } from '../../src/broker/sessions/new-session.store.ts';
import { findSession } from '../../src/broker/sessions/store.ts';
import { openTestApp } from './app.ts';
import type { Open } from './engines.ts';

/** One user's log-in, one target, and sessions of theirs. */
interface World {
  app: App;
  /** Unix milliseconds to let pass. */
  wait(ms: number): void;
  makeSession(options?: {
    limit?: number;
    worker_filter?: string;
    ingress_worker_filter?: string;
    host?: boolean;
  }): Promise<string>;
  version(id: string): Promise<number>;
  status(id: string): Promise<string | undefined>;
}

export async function makeWorld(open: Open): Promise<World> {
  const { app, clock } = await openTestApp(await open());
  const row = (id: string, type: ResourceTypeName, facts: Partial<Resource> = {}): Resource => ({
    id,
    type,
    subtype: 'tcp',
    scope_id: 'p_1',
    container_id: 'p_1',
    owner_id: '',
    name: null,
    description: null,
    unique_key: null,
    version: 1,
    created_ms: app.now(),
    updated_ms: app.now(),
    body: {},
    secret_sealed: null,
    ...facts,
  });
  await app.store.commit([
    insertResource(row('u_1', 'user')),
    insertResource(row('at_1', 'auth-token', { owner_id: 'u_1', scope_id: 'global' })),
    insertResource(row('ttcp_1', 'target')),
    insertResource(row('hsst_1', 'host-set', { container_id: 'hcst_1' })),
    insertResource(row('hst_1', 'host', { container_id: 'hcst_1' })),
    insertLink({ from_id: 'hsst_1', kind: 'host-set-host', to_id: 'hst_1' }),
  ]);
  let made = 0;
  return {
    app,
    wait(ms) {
      clock.now += ms / 1000;
    },
    async makeSession(options = {}) {
      const { limit = -1, worker_filter = '', ingress_worker_filter = '', host = false } = options;
      made += 1;
      const id = `s_${made}`;
      await app.store.commit(
        insertSession({
          id,
          scope_id: 'p_1',
          user_id: 'u_1',
          type: 'tcp',
          target: { id: 'ttcp_1', version: 1 },
          holder: { auth_token_id: 'at_1', token_id: '', alias_id: '', auth_mount_id: '' },
          host_set_id: host ? 'hsst_1' : '',
          host_id: host ? 'hst_1' : '',
          endpoint: 'tcp://10.0.0.5:22',
          connection_limit: limit,
          created_ms: app.now(),
          expires_ms: app.now() + 3_600_000,
          worker_filter,
          ingress_worker_filter,
          injects: false,
          certificate: randomBytes(300),
          private_key_sealed: app.barrier.encrypt('credential', keyPlace(id), new Uint8Array(64)),
        }),
      );
      return id;
    },
    version: async (id) => (await findResource(app.db, id))?.version ?? 0,
    status: async (id) => (await findSession(app.db, id))?.status,
  };
}
