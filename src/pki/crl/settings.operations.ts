import { commitPlanned } from '../../access/standing/attempts.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { Soon } from '../../core/steps.ts';
import { readMountState } from '../mount-state/operations.ts';
import { findConfig, saveConfigAsRead } from '../mount-state/store.ts';
import {
  type CrlConfig,
  type CrlPatch,
  crlConfigSchema,
  DEFAULT_CRL_CONFIG,
  planCrlConfig,
} from './config.ts';
import { ALL, type CrlKind } from './kind.ts';
import { requireShardAddresses } from './shard-points.ts';

export function readCrlConfig(app: App, mount_id: string): Soon<CrlConfig> {
  return app.cached(`pki/crl/${mount_id}`, async () => {
    return parseCrlConfig(await findConfig(app.db, mount_id, 'crl'));
  });
}

function parseCrlConfig(body: string | undefined): CrlConfig {
  return body === undefined ? DEFAULT_CRL_CONFIG : crlConfigSchema.parse(JSON.parse(body));
}

/** Which CRL a question for one of a kind gets here; undefined: none of that kind is built. @see P-476 */
export async function chooseKind(
  app: App,
  mount_id: string,
  kind: CrlKind,
): Promise<CrlKind | undefined> {
  const { unified_crl, unified_crl_on_existing_paths } = await readCrlConfig(app, mount_id);
  if (kind.of === ALL) return unified_crl ? kind : undefined;
  return { ...kind, of: unified_crl_on_existing_paths ? ALL : app.config.cluster_name };
}

export function writeCrlConfig(app: App, caller: Caller, patch: CrlPatch): Promise<CrlConfig> {
  const place = { mount_id: caller.mount.id, name: 'crl' };
  return commitPlanned<CrlConfig>(app, caller, async () => {
    const read = await findConfig(app.db, place.mount_id, place.name);
    const config = planCrlConfig(parseCrlConfig(read), patch, caller.mount);
    if (patch.crl_shards !== undefined && config.crl_shards > 1) {
      requireShardAddresses(await readMountState(app, place.mount_id));
    }
    const effects = saveConfigAsRead(place, { read, body: JSON.stringify(config) });
    return { effects, result: config };
  });
}
