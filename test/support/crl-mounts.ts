import { z } from 'zod';
import type { App } from '../../src/app/app.ts';
import type { Mount } from '../../src/app/mount.ts';
import { classIdOf } from '../../src/pki/crl/issuer-class.ts';
import { pointsRecord } from '../../src/pki/crl/shard-points.ts';
import { readMountState } from '../../src/pki/mount-state/operations.ts';
import { insertRevocation } from '../../src/pki/mount-state/revocations.store.ts';
import { saveConfigAsRead } from '../../src/pki/mount-state/store.ts';
import { SHARD } from '../../src/pki/mount-state/urls.ts';
import { rootFields } from '../../src/pki/profile/root.ts';
import { generateRoot } from '../../src/pki/roots/operations.ts';
import { cacheConfig } from '../../src/store/config-cache.ts';
import type { Store } from '../../src/store/store.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import { enableTestMount, requireTestMount, testCaller, testMount } from './app.ts';

/** Mounts with issuers and revocations, made without a listener. */

export async function makeRoot(app: App, mount: Mount, body: object): Promise<void> {
  const root = z.object({ exported: z.string(), ...rootFields });
  await generateRoot(app, testCaller(mount), root.parse({ ttl: '700h', ...body }));
}

/** The same server on another connection: a second node, or the first one after a restart. */
export function asNode(app: App, store: Store): App {
  return {
    ...app,
    store,
    db: store.db,
    ...cacheConfig(store, app.barrier),
    cached: (_key, load) => load(),
    async commit(_caller, effects) {
      await store.commit(effects);
    },
    async commitOnce(_caller, effects) {
      await store.commit(effects);
    },
  };
}

let mounts = 0;

/**
 * A mount with one issuer.
 *
 * @param how `enabled` false: of a mount that is in no database
 */
export async function makeIssuer(
  app: App,
  { key_type = 'ec', enabled = true }: { key_type?: string; enabled?: boolean } = {},
): Promise<{ mount: Mount; issuer_id: string }> {
  const path = `pki${++mounts}/`;
  const kind = { kind: 'secret', path, type: 'pki' } as const;
  if (enabled) await enableTestMount(app, kind);
  const mount = enabled ? await requireTestMount(app, path) : testMount(kind);
  await makeRoot(app, mount, { exported: 'internal', common_name: 'R', key_type });
  const { defaults } = await readMountState(app, mount.id);
  return { mount, issuer_id: defaults.default_issuer };
}

/**
 * As if certificates of the default issuer had been issued in so many shards.
 *
 * @param latest when the last of them ends, in Unix seconds
 */
export async function noteShards(
  app: App,
  mount: Mount,
  count: number,
  latest: number = 2 ** 40,
): Promise<void> {
  const { issuers, defaults } = await readMountState(app, mount.id);
  const issuer = issuers.get(defaults.default_issuer);
  if (!issuer) throw new Error('the mount has no issuer');
  const place = { mount_id: mount.id, name: pointsRecord(classIdOf(issuer)) };
  const point = { cluster: '', count, url: `http://crl.example/${SHARD}`, latest };
  const body = JSON.stringify([point]);
  await app.store.commit(saveConfigAsRead(place, { read: undefined, body }));
}

/** A serial number that nobody issued. */
export const numberedSerial = (number: number): string =>
  formatSerial(Uint8Array.of(1, number & 0xff, number >> 8, 7));

/** Revokes serial numbers that nobody issued, which a CRL takes as well. */
export async function revokeNumbers(
  app: App,
  mount: Mount,
  { issuer_id, from, to }: { issuer_id: string; from: number; to: number },
): Promise<void> {
  const sets = Array.from({ length: to - from }, (_, at) => {
    const serial = numberedSerial(from + at);
    return insertRevocation(mount.id, { serial, issuer_id, revoked_at_ms: 1e12, reason: 0 });
  });
  await Promise.all(sets.map((set) => app.store.commit(set)));
}
