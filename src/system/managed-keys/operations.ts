import { commitPlanned } from '../../access/standing/attempts.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { NothingResult } from '../../app/output.ts';
import { Failure, invalid } from '../../core/failure.ts';
import type { Soon } from '../../core/steps.ts';
import { forgetRefusedPin, listModules } from '../../pkcs11/operations.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import {
  checkManagedKeyName,
  type ManagedKeyInput,
  MOST_MANAGED_KEYS,
  mechanismFacts,
  placeOf,
  planManagedKey,
  type StoredManagedKey,
} from './managed-key.ts';
import {
  deleteManagedKey,
  holdManagedKeyRoom,
  isManagedKeyUsed,
  listManagedKeys,
  saveManagedKey,
  savePssForm,
} from './store.ts';

/** All managed keys by their ids. */
export function readManagedKeys(app: App): Soon<ReadonlyMap<string, StoredManagedKey>> {
  return app.cached('managed keys', () => listManagedKeys(app.db));
}

interface Named {
  type: string;
  name: string;
}

function requireType(type: string): void {
  if (type !== 'pkcs11') throw invalid('unsupported managed key type: "pkcs11" is supported');
}

const byName = (keys: ReadonlyMap<string, StoredManagedKey>, name: string) =>
  [...keys.values()].find((key) => key.name === name);

/** @throws Failure `not_found` */
export async function requireManagedKey(app: App, { type, name }: Named) {
  requireType(type);
  const found = byName(await readManagedKeys(app), name);
  if (found) return found;
  throw new Failure('not_found', '');
}

export async function listManagedKeyNames(app: App, _caller: Caller, input: { type: string }) {
  requireType(input.type);
  const keys = [...(await readManagedKeys(app)).values()].map(({ name }) => name);
  if (keys.length === 0) throw new Failure('not_found', '');
  return { data: { keys } };
}

export async function readManagedKey(app: App, _caller: Caller, input: Named) {
  const { pin_sealed: _, version: __, ...told } = await requireManagedKey(app, input);
  return { data: told };
}

/** Says where a key is and how it is used. What is written replaces all that was written before. */
export async function writeManagedKey(
  app: App,
  caller: Caller,
  { type, name: sent, pin, ...input }: Named & ManagedKeyInput,
): Promise<NothingResult> {
  requireType(type);
  const name = checkManagedKeyName(sent.toLowerCase());
  if (pin === '') throw invalid('pin must be given');
  const key = await commitPlanned(app, caller, async () => {
    const keys = await listManagedKeys(app.db);
    const known = byName(keys, name);
    if (!known && keys.size >= MOST_MANAGED_KEYS) {
      throw invalid(`there are ${keys.size} managed keys, and no more can be`);
    }
    const uuid = known?.uuid ?? app.newId();
    const result = planManagedKey(input, { uuid, name }, listModules(app));
    const place = pinPlace(uuid);
    const pin_sealed = app.barrier.encrypt('config', place, Buffer.from(pin, 'utf8'));
    const others = known
      ? [savePssForm(uuid, mechanismFacts(result).pss), bumpConfigVersion()]
      : [bumpConfigVersion(), holdManagedKeyRoom()];
    const effects = [saveManagedKey(result, pin_sealed, known), ...others];
    return { effects, result, found: known !== undefined };
  });
  forgetRefusedPin(app, key.library, { ...placeOf(key), pin });
  return {};
}

/** None of the name is no mistake. The key in the token stays. */
export async function removeManagedKey(
  app: App,
  caller: Caller,
  input: Named,
): Promise<NothingResult> {
  requireType(input.type);
  const known = byName(await listManagedKeys(app.db), input.name.toLowerCase());
  if (!known) return {};
  if (await isManagedKeyUsed(app.db, known.uuid)) {
    throw invalid(
      `the managed key "${known.name}" is in use by keys of mounts: delete those first`,
    );
  }
  await app.commit(caller, [deleteManagedKey(known), bumpConfigVersion()]);
  return {};
}

/** The PIN, in memory for as long as it is used. */
export function openPin(app: App, { uuid, pin_sealed }: StoredManagedKey): string {
  const plain = app.barrier.decrypt('config', pinPlace(uuid), pin_sealed);
  const pin = Buffer.from(plain).toString('utf8');
  plain.fill(0);
  return pin;
}

const pinPlace = (id: string) => ({ table: 'managed_key', column: 'pin_sealed', row: id });
