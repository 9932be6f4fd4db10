import { importInTurn } from '../../access/concurrency/imports.operations.ts';
import { isDeniedNow, refuseDeniedNow } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import { invalid } from '../../core/failure.ts';
import { Breath, nextBreath } from '../../core/fairness/breath.ts';
import type { PemBlock } from '../../core/pem.ts';
import type { Certificate } from '../../x509/certificate.ts';
import type { FreshKey } from '../keys/generation.operations.ts';
import { readPrivateKey, requirePair } from '../keys/imported-key.operations.ts';
import { recordOf } from '../mount-state/issuer.ts';
import { insertIssuer, saveIssuer, touchIssuer } from '../mount-state/issuers.store.ts';
import { changeMountState, planDefaultChange, readMountState } from '../mount-state/operations.ts';
import { LOOKED_UP, ownPaths } from '../mount-state/own-paths.ts';
import { requireRoomForImport } from '../mount-state/room.ts';
import type { MountState } from '../mount-state/state.ts';
import { readAuthorities, readBundle, takeSteps, tellWhere, within } from './bundle.ts';
import {
  markRevokedOnes,
  type PlannedKeys,
  pathsOf,
  planIssuers,
  planKeys,
  publicKeys,
} from './linking.operations.ts';
import {
  chooseDefault,
  findBeneath,
  type Imported,
  stateAfter,
  textOf,
  warnOfCrls,
  warnOfDefault,
  warnOfUsages,
} from './plan.ts';

/** PEM, in one of the two. */
interface ImportInput {
  pem_bundle?: string | undefined;
  certificate?: string | undefined;
}

/** What an import has come to. @see P-226 */
interface ImportAnswer {
  mapping: Record<string, string>;
  imported_issuers: string[] | null;
  imported_keys: string[] | null;
  existing_issuers: string[] | null;
  existing_keys: string[] | null;
}

interface Material {
  certificates: readonly Certificate[];
  /** Each proven to be a pair, each public key once. */
  keys: readonly FreshKey[];
}

/**
 * Takes certificates of authorities, and their keys where that is allowed, into the mount: all of them or none.
 *
 * @see P-225
 */
export async function importAuthorities(
  app: App,
  caller: Caller,
  input: ImportInput,
  { mayHaveKeys }: { mayHaveKeys: boolean },
): Promise<DataResult<ImportAnswer>> {
  const text = requireText(input);
  const read = (): Promise<Material> => readMaterial(app, caller, text, mayHaveKeys);
  const material = await (text.length > SMALL ? importInTurn(app, caller, read) : read());
  return changeMountState(app, caller, (mountState) =>
    planImport(app, caller, mountState, material),
  );
}

/** Characters of a bundle that is read in some milliseconds. */
const SMALL = 32 << 10;

/** @see P-227 */
function requireText({ pem_bundle = '', certificate = '' }: ImportInput): string {
  if (pem_bundle !== '' && certificate !== '') {
    throw invalid("'pem_bundle' and 'certificate' parameters were both provided");
  }
  const text = pem_bundle || certificate;
  if (text === '') throw invalid("'pem_bundle' and 'certificate' parameters were empty");
  return text;
}

async function readMaterial(
  app: App,
  caller: Caller,
  text: string,
  mayHaveKeys: boolean,
): Promise<Material> {
  const breath = new Breath();
  const rest = (): Promise<void> => breath.take();
  const bundle = await takeSteps(readBundle(text, mayHaveKeys), rest);
  const certificates = await takeSteps(readAuthorities(bundle.certificates), rest);
  return { certificates, keys: await readKeys(app, caller, bundle.keys, rest) };
}

/** @see P-231 */
async function readKeys(
  app: App,
  caller: Caller,
  blocks: readonly PemBlock[],
  rest: () => Promise<void>,
): Promise<FreshKey[]> {
  const keys = new Map<string, FreshKey>();
  for (const [at, block] of blocks.entries()) {
    const key = within(`Error parsing key ${at}`, () => readPrivateKey(block));
    const known = textOf(key.public_key);
    if (!keys.has(known)) keys.set(known, key);
    await rest();
  }
  if (keys.size === 0) return [];
  // To prove one may take long, and those that the mount has no room for are not taken anyway.
  const mountState = await readMountState(app, caller.mount.id);
  const present = publicKeys(mountState);
  const added = [...keys.keys()].filter((known) => !present.has(known));
  requireRoomForImport(mountState, { issuers: [], keys: added.length });
  let at = 0;
  for (const key of keys.values()) {
    await requirePair(app, caller, key).catch((error: unknown) => {
      throw tellWhere(`Error parsing key ${at}`, error);
    });
    at += 1;
    await rest();
  }
  return [...keys.values()];
}

async function planImport(
  app: App,
  caller: Caller,
  mountState: MountState,
  { certificates, keys: wanted }: Material,
) {
  const mount_id = caller.mount.id;
  const keys = await planKeys(app, mount_id, mountState, wanted);
  await nextBreath();
  const planned = planIssuers(app, mountState, certificates, keys.all);
  const imported = await markRevokedOnes(app, mount_id, mountState, planned);
  const { added, linked } = imported;
  requireRoomForImport(mountState, { issuers: added.map(recordOf), keys: keys.added.length });
  await refuseDeniedNow(caller, pathsOf(caller, mountState, imported));

  const chosen = chooseDefault(mountState, imported);
  const { defaults } = mountState;
  const default_issuer = chosen.default_issuer ?? defaults.default_issuer;
  const default_key = defaults.default_key || (keys.added[0]?.id ?? '');
  const now_ms = app.now();
  await nextBreath();
  const changes = [
    ...keys.effects,
    ...added.map((issuer) => insertIssuer(mount_id, recordOf(issuer))),
    ...linked.map((issuer) => saveIssuer(mount_id, recordOf(issuer))),
    ...findBeneath(mountState, added).map(({ id }) => touchIssuer(mount_id, id, now_ms)),
    ...planDefaultChange(mount_id, mountState, default_issuer, now_ms),
  ];
  const data = await describeImport(caller, mountState, imported, keys);
  const { imported_issuers, imported_keys } = data;
  const serial_numbers = added.map(({ certificate }) => certificate.serial);
  Object.assign(caller.record.outcome, { imported_issuers, imported_keys, serial_numbers });
  return {
    effects: changes,
    // Nothing is new: nothing is written.
    ...(changes.length > 0 && { defaults: { default_issuer, default_key } }),
    spares_issuing: true,
    result: {
      data,
      warnings: [
        ...chosen.warnings,
        ...warnOfDefault(imported, default_issuer),
        ...warnOfUsages(imported),
        ...warnOfCrls(stateAfter(mountState, imported, keys.added), imported),
      ],
    },
  };
}

/** What was there before is told to those alone who are not denied it. @see P-226, P-339 */
async function describeImport(
  caller: Caller,
  { keys: known, defaults }: MountState,
  { issuers, added }: Imported,
  keys: PlannedKeys,
): Promise<ImportAnswer> {
  const isNew = new Set(added);
  const present = issuers.filter((issuer) => !isNew.has(issuer));
  const linked = present.flatMap(({ key_id }) => known.get(key_id) ?? []);
  const told = new Set([
    ...(await findTold(caller, 'issuer', present, defaults.default_issuer)),
    ...(await findTold(caller, 'key', [...keys.existing, ...linked], defaults.default_key)),
    ...[...added, ...keys.added].map(({ id }) => id),
    ...added.map(({ key_id }) => key_id),
    '',
  ]);
  const mapped = issuers.filter(({ id, key_id }) => told.has(id) && told.has(key_id));
  return {
    mapping: Object.fromEntries(mapped.map(({ id, key_id }) => [id, key_id])),
    imported_issuers: idsOf(added),
    imported_keys: idsOf(keys.added),
    existing_issuers: idsOf(present.filter(({ id }) => told.has(id))),
    existing_keys: idsOf(keys.existing.filter(({ id }) => told.has(id))),
  };
}

/** Ids of those that the caller is not denied; mostly that is found out for all at once. */
async function findTold(
  caller: Caller,
  kind: 'issuer' | 'key',
  items: readonly { id: string; name: string }[],
  byDefault: string,
): Promise<string[]> {
  const pathsOfOne = ({ id, name }: { id: string; name: string }) =>
    ownPaths(caller, kind, { ref: id === byDefault ? 'default' : '', id, name }, LOOKED_UP);
  if (!(await isDeniedNow(caller, items.flatMap(pathsOfOne)))) return items.map(({ id }) => id);
  const told: string[] = [];
  for (const item of items) {
    if (!(await isDeniedNow(caller, pathsOfOne(item)))) told.push(item.id);
  }
  return told;
}

const idsOf = (items: readonly { id: string }[]): string[] | null =>
  items.length === 0 ? null : items.map(({ id }) => id);
