import { commitPlanned } from '../../access/standing/attempts.operations.ts';
import { refuseDenied, refuseDeniedNow } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { EnvelopeContext } from '../../barrier/envelope.ts';
import { invalid } from '../../core/failure.ts';
import { readMountState } from '../mount-state/operations.ts';
import { ownPaths } from '../mount-state/own-paths.ts';
import { findIssuer } from '../mount-state/state.ts';
import {
  CHANNELS,
  NO_WARNINGS,
  planSecret,
  planWarnings,
  usesChannel,
  type WarningPatch,
  type WarningSettings,
  warningSettingsSchema,
} from './settings.ts';
import { deleteCursors, deleteMessages, findWarnings, saveWarnings } from './store.ts';

/** The settings of a mount as they are stored. */
export interface StoredWarnings {
  settings: WarningSettings;
  /** 0: nothing was set yet. */
  version: number;
  webhook_secret_sealed: Uint8Array | null;
}

export async function readWarnings(app: App, mount_id: string): Promise<StoredWarnings> {
  const row = await findWarnings(app.db, mount_id);
  if (!row) return { settings: NO_WARNINGS, version: 0, webhook_secret_sealed: null };
  const { version, body, webhook_secret_sealed } = row;
  const settings = warningSettingsSchema.parse(JSON.parse(body));
  return { settings, version, webhook_secret_sealed };
}

/** Where the secret lies. */
const placeOf = (mount_id: string): EnvelopeContext => ({
  table: 'pki_expiration_warning',
  column: 'webhook_secret_sealed',
  row: mount_id,
});

/** @returns undefined where messages are not signed. @throws Failure `unavailable` while the server is sealed */
export function openSecret(
  app: App,
  mount_id: string,
  { webhook_secret_sealed }: StoredWarnings,
): string | undefined {
  if (webhook_secret_sealed === null) return undefined;
  const secret = app.barrier.decrypt('config', placeOf(mount_id), webhook_secret_sealed);
  return Buffer.from(secret).toString('utf8');
}

function sealSecret(app: App, mount_id: string, secret: string | null): Uint8Array | null {
  if (secret === null) return null;
  return app.barrier.encrypt('config', placeOf(mount_id), Buffer.from(secret));
}

const describe = ({ settings, webhook_secret_sealed }: StoredWarnings) => ({
  ...settings,
  webhook_secret_set: webhook_secret_sealed !== null,
});

export async function readWarningsAnswer(app: App, { mount }: Caller) {
  return describe(await readWarnings(app, mount.id));
}

/** Changes the settings that are sent and keeps the others. @see P-505 */
export async function writeWarnings(app: App, caller: Caller, patch: WarningPatch) {
  const mount_id = caller.mount.id;
  for (const ref of patch.issuers ?? []) {
    await refuseDenied(caller, ownPaths(caller, 'issuer', { ref }));
  }
  const { webhook_secret, ...sent } = patch;
  const secret = planSecret(webhook_secret);
  const { smtp, webhooks } = app.config;
  const allowed = { mail: smtp !== undefined, loopback: webhooks.allow_loopback };
  return commitPlanned(app, caller, async () => {
    const stored = await readWarnings(app, mount_id);
    const issuers = sent.issuers && (await resolveIssuers(app, caller, sent.issuers));
    const settings = planWarnings(stored.settings, { ...sent, issuers }, allowed);
    const webhook_secret_sealed =
      secret === undefined ? stored.webhook_secret_sealed : sealSecret(app, mount_id, secret);
    const save = saveWarnings(mount_id, stored.version, {
      enabled: settings.enabled ? 1 : 0,
      body: JSON.stringify(settings),
      webhook_secret_sealed,
    });
    const result = describe({ ...stored, settings, webhook_secret_sealed });
    return { effects: [save, ...planLeavingOff(mount_id, settings)], result };
  });
}

/** Whoever is not told any more hears nothing of what waits, and begins anew when told again. */
function planLeavingOff(mount_id: string, settings: WarningSettings) {
  return CHANNELS.flatMap((channel) =>
    usesChannel(settings, channel)
      ? [deleteCursors(mount_id, channel, settings.before)]
      : [deleteCursors(mount_id, channel, []), deleteMessages(mount_id, channel)],
  );
}

async function resolveIssuers(
  app: App,
  caller: Caller,
  refs: readonly string[],
): Promise<string[]> {
  const mountState = await readMountState(app, caller.mount.id);
  const ids: string[] = [];
  for (const ref of refs) {
    const issuer = findIssuer(mountState, ref);
    if (!issuer) throw invalid('issuers cannot be used: unable to find PKI issuer for reference');
    await refuseDeniedNow(caller, ownPaths(caller, 'issuer', issuer));
    ids.push(issuer.id);
  }
  return ids;
}
