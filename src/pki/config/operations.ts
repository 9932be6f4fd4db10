import { refuseDenied, refuseDeniedNow } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import { mergePatch } from '../../core/patches.ts';
import { requireShardAddresses } from '../crl/shard-points.ts';
import { changeMountState, planDefaultChange } from '../mount-state/operations.ts';
import { ownPaths } from '../mount-state/own-paths.ts';
import { findIssuer, findKey, type MountState } from '../mount-state/state.ts';
import { saveConfig } from '../mount-state/store.ts';
import {
  type ClusterPatch,
  checkClusterPaths,
  checkUrls,
  clusterRecord,
  type UrlPatch,
  warnOfTemplates,
} from '../mount-state/urls.ts';

/** Chooses the default issuer, by id or name. */
export async function writeIssuersConfig(
  app: App,
  caller: Caller,
  input: { default: string; default_follows_latest_issuer?: boolean | undefined },
) {
  // Left out, it falls to false: only root/replace keeps it.
  const follows = input.default_follows_latest_issuer ?? false;
  return chooseDefaultIssuer(app, caller, input.default, () => follows);
}

/** Makes another issuer the default one; `next` unless one is named. @see P-98 */
export async function replaceDefaultIssuer(app: App, caller: Caller, input: { default: string }) {
  return chooseDefaultIssuer(
    app,
    caller,
    input.default,
    ({ defaults }) => defaults.default_follows_latest_issuer,
  );
}

async function chooseDefaultIssuer(
  app: App,
  caller: Caller,
  ref: string,
  followsLatest: (mountState: MountState) => boolean,
) {
  requireExplicitRef('issuer', ref);
  await refuseDenied(caller, ownPaths(caller, 'issuer', { ref }));
  return changeMountState(app, caller, async (mountState) => {
    const issuer = findIssuer(mountState, ref);
    if (!issuer) {
      throw invalid(
        `Error resolving issuer reference: unable to find PKI issuer for reference: ${ref}`,
      );
    }
    await refuseDeniedNow(caller, ownPaths(caller, 'issuer', issuer));
    const follows = followsLatest(mountState);
    const warnings =
      issuer.key_id === ''
        ? [
            `This selected default issuer has no key associated with it. Some operations like issuing certificates and signing CRLs will be unavailable with the requested default issuer until a key is imported or the default issuer is changed.`,
          ]
        : [];
    return {
      effects: planDefaultChange(caller.mount.id, mountState, issuer.id, app.now()),
      defaults: { default_issuer: issuer.id, default_follows_latest_issuer: follows },
      spares_issuing: true,
      result: {
        data: { default: issuer.id, default_follows_latest_issuer: follows },
        warnings,
      },
    };
  });
}

/** Chooses the default key, by id or name. */
export async function writeKeysConfig(app: App, caller: Caller, input: { default: string }) {
  requireExplicitRef('key', input.default);
  await refuseDenied(caller, ownPaths(caller, 'key', { ref: input.default }));
  return changeMountState(app, caller, async (mountState) => {
    const key = findKey(mountState, input.default);
    if (!key) {
      throw invalid(
        `Error resolving key reference: unable to find PKI key for reference: ${input.default}`,
      );
    }
    await refuseDeniedNow(caller, ownPaths(caller, 'key', key));
    return {
      effects: [],
      defaults: { default_key: key.id },
      spares_issuing: true,
      result: { default: key.id },
    };
  });
}

/** @see P-97, P-104 */
function requireExplicitRef(what: 'issuer' | 'key', ref: string): void {
  if (ref !== '' && ref.toLowerCase() !== 'default') return;
  throw invalid(`Invalid ${what} specification; must be non-empty and can't be 'default'.`);
}

/** Changes where this cluster is reached; what is not sent stays. @see P-481 */
export async function writeCluster(app: App, caller: Caller, patch: ClusterPatch) {
  return changeMountState(app, caller, ({ cluster }) => {
    const changed = mergePatch(cluster, patch);
    checkClusterPaths(changed);
    const record = clusterRecord(app.config.cluster_name);
    return {
      effects: saveConfig(caller.mount.id, record, JSON.stringify(changed)),
      result: { data: changed },
    };
  });
}

/** Changes the URLs that are sent and keeps the others. */
export async function writeUrls(app: App, caller: Caller, patch: UrlPatch) {
  return changeMountState(app, caller, ({ urls, cluster, issuers, crl_shards }) => {
    const changed = mergePatch(urls, patch);
    checkUrls(changed, changed.enable_templating);
    if (crl_shards > 1) requireShardAddresses({ urls: changed, issuers });
    return {
      effects: saveConfig(caller.mount.id, 'urls', JSON.stringify(changed)),
      result: {
        data: changed,
        warnings: warnOfTemplates(changed.enable_templating, changed, cluster),
      },
    };
  });
}
