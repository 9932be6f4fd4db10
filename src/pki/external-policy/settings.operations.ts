import { commitPlanned } from '../../access/standing/attempts.operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { EnvelopeContext } from '../../barrier/envelope.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import {
  describePolicy,
  NO_POLICY,
  type PolicyAnswer,
  type PolicyPatch,
  type PolicySettings,
  planPolicy,
  policySettingsSchema,
  type ServiceStatus,
} from './settings.ts';
import { findPolicy, savePolicy } from './store.ts';

/** The settings of a mount as they are stored. */
export interface StoredPolicy {
  settings: PolicySettings;
  /** 0: nothing was set yet. */
  version: number;
  updated_at_ms: number | undefined;
  client_key_sealed: Uint8Array | null;
}

const UNSET: StoredPolicy = {
  settings: NO_POLICY,
  version: 0,
  updated_at_ms: undefined,
  client_key_sealed: null,
};

/** Read for each request: what it takes is little beside asking the service, and it may be long. */
export async function readPolicy(app: App, mount_id: string): Promise<StoredPolicy> {
  const row = await findPolicy(app.db, mount_id);
  if (!row) return UNSET;
  const { body, ...rest } = row;
  return { ...rest, settings: policySettingsSchema.parse(JSON.parse(body)) };
}

const placeOf = (mount_id: string): EnvelopeContext => ({
  table: 'pki_external_policy',
  column: 'client_key_sealed',
  row: mount_id,
});

/** Changes the settings that are sent and keeps the others. @see P-375 */
export async function writePolicy(
  app: App,
  caller: Caller,
  patch: PolicyPatch,
): Promise<PolicyAnswer> {
  const mount_id = caller.mount.id;
  return commitPlanned<PolicyAnswer>(app, caller, async () => {
    const stored = await readPolicy(app, mount_id);
    const { settings, client_key } = planPolicy(stored.settings, patch);
    const updated_at_ms = app.now();
    const client_key_sealed =
      client_key === undefined
        ? stored.client_key_sealed
        : client_key && app.barrier.encrypt('pki-key', placeOf(mount_id), client_key);
    const save = savePolicy(mount_id, stored.version || undefined, {
      updated_at_ms,
      body: JSON.stringify(settings),
      client_key_sealed,
    });
    return { effects: [save], result: describePolicy(settings, updated_at_ms, NO_ANSWER) };
  });
}

export async function readPolicyAnswer(app: App, { mount }: Caller): Promise<PolicyAnswer> {
  const { settings, updated_at_ms, version } = await readPolicy(app, mount.id);
  return describePolicy(settings, updated_at_ms, statusOf(app, mount.id, version));
}

/** PKCS #8 in DER; the caller wipes it. @throws Failure `unavailable` while the server is sealed */
export function openClientKey(
  app: App,
  mount_id: string,
  { client_key_sealed }: StoredPolicy,
): Uint8Array | undefined {
  if (client_key_sealed === null) return undefined;
  return app.barrier.decrypt('pki-key', placeOf(mount_id), client_key_sealed);
}

const NO_ANSWER: ServiceStatus = { answered_at_ms: undefined };

/** Mounts whose services are remembered. */
const MOST_KNOWN = 5_000;

/** What this node has seen of services; begins anew with each unsealing. */
const statuses = perApp((app) => {
  const kept = { known: new BoundedMap<ServiceStatus & { version: number }>(MOST_KNOWN) };
  app.barrier.onSeal(() => {
    kept.known = new BoundedMap(MOST_KNOWN);
  });
  return kept;
});

function statusOf(app: App, mount_id: string, version: number): ServiceStatus {
  const known = statuses(app).known.get(mount_id);
  return known?.version === version ? known : NO_ANSWER;
}

/** Notes that the service has given an answer that can be read. */
export function noteAnswer(app: App, mount_id: string, version: number): void {
  statuses(app).known.set(mount_id, { version, answered_at_ms: app.now() });
}
