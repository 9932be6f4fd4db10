import { randomBytes, randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { commitFor } from '../../src/access/standing/attempts.operations.ts';
import { commitOnceFor } from '../../src/access/standing/operations.ts';
import type { App } from '../../src/app/app.ts';
import type { Caller } from '../../src/app/caller.ts';
import { Ending } from '../../src/app/ended.ts';
import type { Mount } from '../../src/app/mount.ts';
import { createTrail, hashSecret } from '../../src/audit/operations.ts';
import { Barrier } from '../../src/barrier/barrier.ts';
import { KEYRING_KEY_RANDOMNESS, openKeyring, wrapKeyringKey } from '../../src/barrier/keyring.ts';
import { DEV_DEFAULTS, devConfig } from '../../src/config/config.ts';
import { planFirstMounts, readMounts } from '../../src/mounts/operations.ts';
import { EMPTY_CONFIG } from '../../src/mounts/rules.ts';
import { endDependants, leaseKinds, planDependants } from '../../src/start/routes.ts';
import { cacheConfig } from '../../src/store/config-cache.ts';
import type { Store } from '../../src/store/store.ts';
import { enableMount } from '../../src/system/mounts/operations.ts';
import { recordFrom } from './caller-record.ts';

export interface TestApp {
  app: App;
  /** Unix seconds; move it to let time pass. */
  clock: { now: number };
}

/** An unsealed app over a real store, with the first mounts and a clock that stands still. */
export async function openTestApp(store: Store): Promise<TestApp> {
  const clock = { now: 1_800_000_000 };
  const random = (length: number): Uint8Array => randomBytes(length);
  const barrier = new Barrier(random);
  await barrier.unseal(newKeyring(), barrier.sealings);
  const now = (): number => clock.now * 1000;
  const audit = createTrail({
    store,
    now,
    hash: (secret) => hashSecret({ barrier }, secret),
    wait_for_reads: false,
    onError: () => {},
  });
  const newId = (): string => randomUUID();
  const app: App = {
    config: devConfig(DEV_DEFAULTS),
    store,
    db: store.db,
    barrier,
    audit,
    log: pino({ level: 'silent' }),
    leaseKinds,
    planDependants,
    endDependants,
    now,
    randomBytes: random,
    newId,
    async commit(caller, effects) {
      await commitFor({ store, now, newId }, caller, () => [...effects, audit.entryOf(caller)]);
      caller.recorded = true;
    },
    async commitOnce(caller, effects) {
      await commitOnceFor(store, caller, [...effects, audit.entryOf(caller)]);
      caller.recorded = true;
    },
    ...cacheConfig(store, barrier),
    onClose: () => {},
  };
  await store.commit(planFirstMounts(app));
  return { app, clock };
}

function newKeyring() {
  const root_key = randomBytes(32);
  const key = (use: 'data' | 'hash', term: number) =>
    wrapKeyringKey({
      root_key,
      use,
      term,
      random: randomBytes(KEYRING_KEY_RANDOMNESS),
      created_at: 0,
    });
  return openKeyring(root_key, [key('data', 1), key('hash', 0)]);
}

/** A request to a mount, by nobody unless `facts` say otherwise. */
export function testCaller(
  mount: Mount,
  facts: Partial<Pick<Caller, 'token' | 'acl' | 'identity'>> = {},
): Caller {
  return {
    request_id: randomUUID(),
    token: facts.token,
    acl: facts.acl,
    identity: facts.identity,
    mount,
    headers: {},
    wrap_ttl: undefined,
    record: {
      ...recordFrom('192.0.2.1'),
      route: 'test',
      operation: 'update',
      path: 'test',
    },
    ending: new Ending(),
    recorded: false,
  };
}

/** The mount at a path as clients write it, e.g. `auth/token/`. */
export async function requireTestMount(app: App, path: string): Promise<Mount> {
  const mount = (await readMounts(app)).get(path);
  if (!mount) throw new Error(`no mount at ${path}`);
  return mount;
}

/** Enables an engine, as somebody who may. */
export async function enableTestMount(
  app: App,
  mount: Pick<Mount, 'kind' | 'path' | 'type'>,
): Promise<void> {
  await enableMount(app, testCaller(await requireTestMount(app, 'sys/')), {
    ...mount,
    description: '',
    config: {},
    options: null,
    local: false,
    seal_wrap: false,
    external_entropy_access: false,
  });
}

/** A mount that is in no database. */
export function testMount(mount: Pick<Mount, 'kind' | 'path' | 'type'>): Mount {
  return {
    id: randomUUID(),
    accessor: `${mount.type}_test`,
    description: '',
    local: false,
    seal_wrap: false,
    external_entropy_access: false,
    options: null,
    config: EMPTY_CONFIG,
    ...mount,
  };
}
