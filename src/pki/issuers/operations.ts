import { refuseDenied, refuseDeniedNow } from '../../access/standing/operations.ts';
import type { OwnPath } from '../../acl/name-form.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { mergePatch } from '../../core/patches.ts';
import { numberWarnings, warnOfChange } from '../crl/issuer-class.ts';
import { describeIssuer, type Issuer, type IssuerRecord, recordOf } from '../mount-state/issuer.ts';
import { deleteAllIssuers, deleteIssuer, saveIssuer } from '../mount-state/issuers.store.ts';
import { checkName } from '../mount-state/key.ts';
import { deleteAllKeys } from '../mount-state/keys.store.ts';
import { changeMountState, readMountState, requireIssuer } from '../mount-state/operations.ts';
import { CONCERNED, ownPaths, RENAMED } from '../mount-state/own-paths.ts';
import { touchCrls } from '../mount-state/revocations.store.ts';
import { requireRoomForSettings } from '../mount-state/room.ts';
import {
  findIssuer,
  type ListedPage,
  type MountState,
  requirePage,
  resolveIssuer,
} from '../mount-state/state.ts';
import { warnOfTemplates } from '../mount-state/urls.ts';
import { countRolesOf, MOST_COUNTED } from '../roles/store.ts';
import { pathsOfRemoved, planAfterRemoval } from './removal.operations.ts';
import {
  checkChainLength,
  type IssuerPatch,
  type IssuerUpdate,
  planSettings,
  updateOf,
} from './settings.ts';

type IssuerAnswer = DataResult<ReturnType<typeof describeIssuer>>;

/** All issuers in order of their ids, or one page of them. @see P-241 */
export async function listIssuerInfo(app: App, caller: Caller, page: ListedPage) {
  const { issuers, defaults } = await readMountState(app, caller.mount.id);
  const listed = requirePage(issuers, page);
  const described = listed.map((issuer) => {
    const info = {
      is_default: issuer.id === defaults.default_issuer,
      issuer_name: issuer.name,
      key_id: issuer.key_id,
      serial_number: issuer.certificate.serial,
    };
    return [issuer.id, info] as const;
  });
  return { key_info: Object.fromEntries(described), keys: listed.map(({ id }) => id) };
}

interface IssuerRef {
  issuer_ref: string;
}

/** Writes an issuer's settings whole: what is left out falls to its default. */
export async function writeIssuer(
  app: App,
  caller: Caller,
  input: IssuerUpdate & IssuerRef,
): Promise<IssuerAnswer> {
  const { issuer_ref, ...update } = input;
  return changeIssuer(app, caller, { issuer_ref, sent: update }, () => update);
}

/** Changes the settings that are sent and keeps the others. */
export async function updateIssuer(
  app: App,
  caller: Caller,
  input: IssuerPatch & IssuerRef,
): Promise<IssuerAnswer> {
  const { issuer_ref, ...patch } = input;
  return changeIssuer(app, caller, { issuer_ref, sent: patch }, (issuer) =>
    mergePatch(updateOf(issuer), patch),
  );
}

async function changeIssuer(
  app: App,
  caller: Caller,
  { issuer_ref: ref, sent }: IssuerRef & { sent: IssuerPatch },
  updateFrom: (issuer: Issuer) => IssuerUpdate,
): Promise<IssuerAnswer> {
  await refuseDenied(
    caller,
    ownPaths(caller, 'issuer', { name: sent.issuer_name }, RENAMED.issuer),
  );
  const { id, warnings } = await changeMountState(app, caller, async (mountState) => {
    const issuer = resolveIssuer(mountState, ref);
    await refuseDeniedChain(caller, mountState, issuer, sent.manual_chain ?? []);
    const update = updateFrom(issuer);
    const settings = planSettings(mountState, issuer, update);
    requireRoomForSettings(mountState, issuer, settings);
    const name = planName(mountState, issuer, update.issuer_name.trim());
    const renamed = name !== issuer.name;
    const now_ms = app.now();
    const changed: IssuerRecord = {
      ...recordOf(issuer),
      name,
      settings,
      modified_at_ms: renamed ? now_ms : issuer.modified_at_ms,
    };
    const told = warnOfTemplates(settings.enable_aia_url_templating, settings, mountState.cluster);
    if (renamed) told.push(...(await warnOfReferences(app, caller, [issuer.name])));
    told.push(...numberWarnings(warnOfChange(mountState, issuer, { ...issuer, settings })));
    return {
      effects: [
        saveIssuer(caller.mount.id, changed),
        // The CRL's addresses may go by the name.
        ...(renamed ? [touchCrls(caller.mount.id, now_ms)] : []),
      ],
      spares_issuing: true,
      result: { id: issuer.id, warnings: told },
    };
  });
  return { data: describeIssuer(await requireIssuer(app, caller, id)), warnings };
}

/** Judges the other members alone: permission for the issuer itself was judged by the path. */
async function refuseDeniedChain(
  caller: Caller,
  mountState: MountState,
  issuer: Issuer,
  refs: readonly string[],
): Promise<void> {
  // A chain that is too long is refused as such whatever the caller is permitted.
  checkChainLength(issuer, refs);
  const others: OwnPath[] = [];
  for (const ref of refs) {
    const member = ref === 'self' ? issuer : findIssuer(mountState, ref);
    if (member === issuer) continue;
    others.push(...ownPaths(caller, 'issuer', { ref, id: member?.id ?? '', name: member?.name }));
  }
  await refuseDeniedNow(caller, others);
}

function planName(mountState: MountState, issuer: Issuer, name: string): string {
  if (name === '' || name === issuer.name) return name;
  checkName('issuer', name, mountState.issuers);
  return name;
}

/** @param refs by what an issuer was named; what is empty names none @see P-95 */
async function warnOfReferences(
  app: App,
  caller: Caller,
  refs: readonly string[],
): Promise<string[]> {
  const warnings: string[] = [];
  for (const ref of refs) {
    const count = ref === '' ? 0 : await countRolesOf(app.db, caller.mount.id, ref);
    const told = count > MOST_COUNTED ? `more than ${MOST_COUNTED}` : `${count}`;
    if (count > 0) warnings.push(`${told} roles reference ${ref}`);
  }
  return warnings;
}

/** Removes an issuer; its key and the certificates it signed stay. @see P-96 */
export async function removeIssuer(
  app: App,
  caller: Caller,
  input: IssuerRef,
): Promise<DataResult<null>> {
  return changeMountState<DataResult<null>>(app, caller, async (mountState) => {
    const issuer = findIssuer(mountState, input.issuer_ref);
    if (!issuer) return { effects: [], result: { data: null } };
    const effects = [
      deleteIssuer(caller.mount.id, issuer.id),
      ...(await planAfterRemoval(app, caller.mount.id, mountState, [issuer])),
    ];
    const warnings: string[] = [];
    const wasDefault = issuer.id === mountState.defaults.default_issuer;
    if (wasDefault) {
      warnings.push(
        `Deleted issuer ${issuer.id} (via issuer_ref ${input.issuer_ref}); this was configured as the default issuer. Operations without an explicit issuer will not work until a new default is configured.`,
      );
    }
    const named = [...(wasDefault ? ['default'] : []), issuer.id, issuer.name];
    warnings.push(...(await warnOfReferences(app, caller, named)));
    warnings.push(...numberWarnings(warnOfChange(mountState, issuer, undefined)));
    return {
      effects,
      spares_issuing: true,
      defaults: wasDefault ? { default_issuer: '' } : {},
      result: { data: null, warnings },
    };
  });
}

/**
 * Removes all issuers and keys of the mount; what they signed stays, and so do revocations.
 *
 * @see P-86
 */
export async function removeRoot(app: App, caller: Caller): Promise<NothingResult> {
  const warnings = [
    'DELETE /root deletes all keys and issuers; prefer the new DELETE /key/:key_ref and DELETE /issuer/:issuer_ref for finer granularity, unless removal of all keys and issuers is desired.',
  ];
  return changeMountState(app, caller, async (mountState) => {
    await refuseDeniedNow(caller, pathsOfAll(caller, mountState));
    const all = [...mountState.issuers.values()];
    const lasting = await planAfterRemoval(app, caller.mount.id, mountState, all);
    return {
      effects: [deleteAllIssuers(caller.mount.id), deleteAllKeys(caller.mount.id), ...lasting],
      defaults: { default_issuer: '', default_key: '' },
      result: { warnings },
    };
  });
}

/** Each is removed, and could be by itself. */
function pathsOfAll(caller: Caller, mountState: MountState): OwnPath[] {
  const { issuers, keys, defaults } = mountState;
  return [
    ...pathsOfRemoved(caller, mountState, issuers.values()),
    ...[...keys.values()].flatMap(({ id, name }) => {
      const ref = id === defaults.default_key ? 'default' : '';
      return ownPaths(caller, 'key', { ref, id, name }, CONCERNED);
    }),
  ];
}
