import { refuseDenied, refuseDeniedNow } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import { invalid } from '../../core/failure.ts';
import { type PemBlock, parsePem } from '../../core/pem.ts';
import { readPrivateKey, requirePair } from '../keys/imported-key.operations.ts';
import { recordOf } from '../mount-state/issuer.ts';
import { saveIssuer } from '../mount-state/issuers.store.ts';
import { checkNewName, describeKey } from '../mount-state/key.ts';
import { changeMountState } from '../mount-state/operations.ts';
import { ownPaths } from '../mount-state/own-paths.ts';
import { requireRoomForKey } from '../mount-state/room.ts';
import { pathsOf, planIssuers, planKeys, publicKeys } from './linking.operations.ts';
import { stateAfter, textOf, warnOfCrls, warnOfUsages } from './plan.ts';

/**
 * Takes one private key into the mount. One that the mount has stays as it is there, by its own name.
 *
 * @see P-239
 */
export async function importKey(
  app: App,
  caller: Caller,
  input: { pem_bundle: string; key_name?: string | undefined },
): Promise<DataResult<ReturnType<typeof describeKey>>> {
  await refuseDenied(caller, ownPaths(caller, 'key', { name: input.key_name }));
  const fresh = readPrivateKey(requireOneKey(input.pem_bundle));
  await requirePair(app, caller, fresh);
  const mount_id = caller.mount.id;
  return changeMountState<DataResult<ReturnType<typeof describeKey>>>(
    app,
    caller,
    async (mountState) => {
      const known = publicKeys(mountState).get(textOf(fresh.public_key));
      const others = [...mountState.keys].filter(([id]) => id !== known?.id);
      const name = checkNewName('key', input.key_name, new Map(others));
      if (known) {
        await refuseDeniedNow(caller, ownPaths(caller, 'key', known));
        return { effects: [], result: { data: describeKey(known) } };
      }
      requireRoomForKey(mountState);
      const { all, added, effects } = await planKeys(app, mount_id, mountState, [fresh], name);
      const imported = planIssuers(app, mountState, [], all);
      await refuseDeniedNow(caller, pathsOf(caller, mountState, imported));
      const [key] = added;
      if (!key) throw new Error('a new key was not planned');
      caller.record.outcome.key_id = key.id;
      return {
        effects: [
          ...effects,
          ...imported.linked.map((issuer) => saveIssuer(mount_id, recordOf(issuer))),
        ],
        spares_issuing: true,
        defaults: { default_key: mountState.defaults.default_key || key.id },
        result: {
          data: describeKey(key),
          warnings: [
            ...warnOfUsages(imported),
            ...warnOfCrls(stateAfter(mountState, imported, added), imported),
          ],
        },
      };
    },
  );
}

/** A shorter text is no private key. */
const LEAST_KEY_LENGTH = 64;

function requireOneKey(text: string): PemBlock {
  if (text.length < LEAST_KEY_LENGTH) {
    throw invalid(
      'provided data for import was too short; perhaps a path was passed to the API rather than the contents of a PEM file?',
    );
  }
  const blocks = parsePem(text);
  const [block, another] = blocks.filter(({ label }) => label !== 'EC PARAMETERS');
  if (blocks.length === 0) throw invalid('error when parsing block 0: invalid PEM data');
  if (block && !another) return block;
  throw invalid('only a single key can be present within the pem_bundle for importing');
}
