import { refuseDenied, refuseDeniedNow } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import { Failure } from '../../core/failure.ts';
import { changeMountState, planDefaultChange, readMountState } from '../mount-state/operations.ts';
import { ownPaths } from '../mount-state/own-paths.ts';
import { findIssuer, findKey, type MountState } from '../mount-state/state.ts';
import { saveConfig } from '../mount-state/store.ts';
import { checkUrls, type UrlSettings, warnOfTemplates } from '../mount-state/urls.ts';

interface IssuersConfig {
  default: string;
  default_follows_latest_issuer: boolean;
}

export async function readIssuersConfig(
  app: App,
  caller: Caller,
): Promise<DataResult<IssuersConfig>> {
  const { defaults } = await readMountState(app, caller.mount.id);
  const { default_issuer, default_follows_latest_issuer } = defaults;
  return { data: { default: default_issuer, default_follows_latest_issuer } };
}

/** Chooses the default issuer, by id or name. */
export async function writeIssuersConfig(
  app: App,
  caller: Caller,
  input: { default: string; default_follows_latest_issuer?: boolean | undefined },
): Promise<DataResult<IssuersConfig>> {
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
): Promise<DataResult<IssuersConfig>> {
  requireExplicitRef('issuer', ref);
  await refuseDenied(caller, ownPaths(caller, 'issuer', { ref }));
  return changeMountState<DataResult<IssuersConfig>>(app, caller, async (mountState) => {
    const issuer = findIssuer(mountState, ref);
    if (!issuer) {
      throw new Failure(
        'invalid',
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

export async function readKeysConfig(
  app: App,
  caller: Caller,
): Promise<DataResult<{ default: string }>> {
  const { defaults } = await readMountState(app, caller.mount.id);
  return { data: { default: defaults.default_key } };
}

/** Chooses the default key, by id or name. */
export async function writeKeysConfig(
  app: App,
  caller: Caller,
  input: { default: string },
): Promise<DataResult<{ default: string }>> {
  requireExplicitRef('key', input.default);
  await refuseDenied(caller, ownPaths(caller, 'key', { ref: input.default }));
  return changeMountState<DataResult<{ default: string }>>(
    app,
    caller,
    async (mountState: MountState) => {
      const key = findKey(mountState, input.default);
      if (!key) {
        throw new Failure(
          'invalid',
          `Error resolving key reference: unable to find PKI key for reference: ${input.default}`,
        );
      }
      await refuseDeniedNow(caller, ownPaths(caller, 'key', key));
      return {
        effects: [],
        defaults: { default_key: key.id },
        spares_issuing: true,
        result: { data: { default: key.id } },
      };
    },
  );
}

/** @see P-97, P-104 */
function requireExplicitRef(what: 'issuer' | 'key', ref: string): void {
  if (ref !== '' && ref.toLowerCase() !== 'default') return;
  throw new Failure(
    'invalid',
    `Invalid ${what} specification; must be non-empty and can't be 'default'.`,
  );
}

export async function readUrls(app: App, caller: Caller): Promise<DataResult<UrlSettings>> {
  const { urls } = await readMountState(app, caller.mount.id);
  return { data: urls };
}

/** Changes the URLs that are sent and keeps the others. */
export async function writeUrls(
  app: App,
  caller: Caller,
  input: { [Field in keyof UrlSettings]?: UrlSettings[Field] | undefined },
): Promise<DataResult<UrlSettings>> {
  return changeMountState<DataResult<UrlSettings>>(app, caller, ({ urls, cluster }) => {
    const changed: UrlSettings = {
      issuing_certificates: input.issuing_certificates ?? urls.issuing_certificates,
      crl_distribution_points: input.crl_distribution_points ?? urls.crl_distribution_points,
      ocsp_servers: input.ocsp_servers ?? urls.ocsp_servers,
      delta_crl_distribution_points:
        input.delta_crl_distribution_points ?? urls.delta_crl_distribution_points,
      enable_templating: input.enable_templating ?? urls.enable_templating,
    };
    checkUrls(changed, changed.enable_templating);
    return {
      effects: saveConfig(caller.mount.id, 'urls', JSON.stringify(changed)),
      result: {
        data: changed,
        warnings: warnOfTemplates(changed.enable_templating, cluster),
      },
    };
  });
}
