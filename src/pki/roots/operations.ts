import { signInTurn } from '../../access/concurrency/operations.ts';
import { refuseDenied, refuseDeniedNow } from '../../access/standing/operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { effectiveLeaseTtls, type Mount } from '../../app/mount.ts';
import { invalid } from '../../core/failure.ts';
import { presentMount } from '../../mounts/operations.ts';
import { holdSettings } from '../../mounts/store.ts';
import type { Effect } from '../../store/write.ts';
import type { SignatureAlgorithm } from '../../x509/algorithms.ts';
import { formatSerial } from '../../x509/serial.ts';
import { encodeCertificate, withPrivateKey } from '../certificates/answer.ts';
import { insertCertificate } from '../certificates/store.ts';
import { KEY_TYPES } from '../fields/key-field-kinds.ts';
import { checkSignatureSize, resolveKeyParameters } from '../fields/key-parameters.ts';
import { type FreshKey, generateKey, handOut } from '../keys/generation.operations.ts';
import { planTakenKey, takeManagedKey } from '../keys/managed-keys.operations.ts';
import { sealKey } from '../keys/sealed-keys.operations.ts';
import { signCertificate, signWith, signWithKey } from '../keys/signing.operations.ts';
import { DEFAULT_SETTINGS, type IssuerRecord } from '../mount-state/issuer.ts';
import { insertIssuer } from '../mount-state/issuers.store.ts';
import { checkNewName, type Key } from '../mount-state/key.ts';
import { changeMountState, planDefaultChange } from '../mount-state/operations.ts';
import { ownPaths } from '../mount-state/own-paths.ts';
import { requireRoomForIssuer, requireRoomForKey } from '../mount-state/room.ts';
import { type MountState, resolveKey } from '../mount-state/state.ts';
import { planRootOnThread } from '../planning/operations.ts';
import { isHeavyRoot } from '../planning/task.ts';
import { planRoot, type RootRequest, type WantedRoot } from '../profile/root.ts';
import type { GeneratedRoot } from './generated-root.ts';

/** Of a root's certificate, which goes with all that it signs. */
const MOST_ROOT_BYTES = 64 << 10;

const KEY_SOURCES = ['internal', 'exported', 'existing', 'kms'] as const;
type KeySource = (typeof KEY_SOURCES)[number];

/** Makes a root: a key, unless an existing one is to be used, and a certificate signed by it. */
export async function generateRoot(
  app: App,
  caller: Caller,
  input: RootRequest & { exported: string },
) {
  const source = parseKeySource(input.exported);
  const { exported: _, ...request } = input;
  checkSignatureSize(request.signature_bits);
  await refuseDeniedPaths(caller, source, request);
  const taken = source === 'kms' ? await takeManagedKey(app, caller, request) : undefined;
  const fresh =
    taken || source === 'existing' ? undefined : await generateKey(app, caller, planKey(request));
  const mount_id = caller.mount.id;

  return changeMountState(app, caller, async (mountState) => {
    const issuer_name = checkNewName('issuer', request.issuer_name, mountState.issuers);
    const { key, effects } = fresh
      ? planFreshKey(app, mount_id, mountState, fresh, request.key_name)
      : taken
        ? await planTakenKey(app, caller, mountState, { taken, key_name: request.key_name })
        : { key: await requireExistingKey(caller, mountState, request), effects: [] };
    const now_ms = app.now();
    const mount = await presentMount(app, caller.mount);
    const root = await signRoot(app, caller, { request, now_ms, mount, mountState, key, fresh });
    const named = { id: app.newId(), name: issuer_name, key_id: key.id };
    const issuer = planIssuer(root, named, app.now());
    requireRoomForIssuer(mountState, issuer);
    const { serial_number, not_after, warnings } = root;
    Object.assign(caller.record.outcome, { issuer_id: issuer.id, serial_number });
    const { defaults } = mountState;
    const becomesDefault = defaults.default_issuer === '' || defaults.default_follows_latest_issuer;
    const encoded = encodeCertificate(root.der, request.format);
    const certificates = { certificate: encoded, issuing_ca: encoded };
    const data: GeneratedRoot = {
      ...(source === 'exported' && fresh
        ? withPrivateKey(certificates, handOut(fresh), request)
        : certificates),
      serial_number,
      expiration: not_after,
      issuer_id: issuer.id,
      issuer_name,
      key_id: key.id,
      key_name: key.name,
    };
    return {
      effects: [
        ...holdSettings(mount),
        ...effects,
        insertIssuer(mount_id, issuer),
        ...insertCertificate(mount_id, planRow(root, issuer, request), []),
        ...(becomesDefault ? planDefaultChange(mount_id, mountState, issuer.id, app.now()) : []),
      ],
      spares_issuing: true,
      defaults: {
        default_issuer: becomesDefault ? issuer.id : defaults.default_issuer,
        default_key: defaults.default_key === '' ? key.id : defaults.default_key,
      },
      result: { data, warnings },
    };
  });
}

/** What is made has paths of its own, and so has the key that is used. */
async function refuseDeniedPaths(
  caller: Caller,
  source: KeySource,
  request: RootRequest,
): Promise<void> {
  const { issuer_name: name, key_name, key_ref } = request;
  await refuseDenied(caller, [
    ...ownPaths(caller, 'issuer', { name }),
    ...ownPaths(caller, 'key', source === 'existing' ? { ref: key_ref } : { name: key_name }),
  ]);
}

interface RootContext {
  request: RootRequest;
  now_ms: number;
  mount: Mount;
  mountState: MountState;
  key: Key;
  /** The new key, which is not stored yet; undefined for an existing one. */
  fresh: FreshKey | undefined;
}

interface SignedRoot {
  der: Uint8Array;
  serial_number: string;
  /** Unix seconds, as the next. */
  not_before: number;
  not_after: number;
  signatureAlgorithm: SignatureAlgorithm;
  warnings: string[];
}

/** Lays the certificate out and has its own key sign it. */
async function signRoot(
  app: App,
  caller: Caller,
  { request, now_ms, mount, mountState, key, fresh }: RootContext,
): Promise<SignedRoot> {
  const serialNumber = newSerialNumber(app);
  const wanted: WantedRoot = {
    request,
    now: Math.floor(now_ms / 1000),
    serialNumber,
    key,
    mount: effectiveLeaseTtls(mount.config),
    urls: mountState.urls,
    cluster: mountState.cluster,
  };
  const { tbs, warnings } = isHeavyRoot(request)
    ? await planRootOnThread(app, caller, wanted)
    : planRoot(wanted);
  const sign = (algorithm: SignatureAlgorithm, data: Uint8Array) =>
    signInTurn(app, caller, key, async () =>
      fresh
        ? signWith(fresh.private_key, fresh, algorithm, data)
        : signWithKey(app, caller.mount.id, key, algorithm, data),
    );
  return {
    der: await signCertificate(tbs, sign, MOST_ROOT_BYTES),
    serial_number: formatSerial(serialNumber),
    not_before: tbs.notBefore,
    not_after: tbs.notAfter,
    signatureAlgorithm: tbs.signatureAlgorithm,
    warnings,
  };
}

const planIssuer = (
  { der, signatureAlgorithm }: SignedRoot,
  named: Pick<IssuerRecord, 'id' | 'name' | 'key_id'>,
  now_ms: number,
): IssuerRecord => ({
  ...named,
  certificate: der,
  settings: { ...DEFAULT_SETTINGS, revocation_signature_algorithm: signatureAlgorithm },
  revoked_at_ms: undefined,
  modified_at_ms: now_ms,
  created_at_ms: now_ms,
  version: 0,
});

/** The certificate as it is kept among those of the mount. */
const planRow = (
  { der, serial_number: serial, not_before, not_after }: SignedRoot,
  { id: issuer_id }: IssuerRecord,
  { common_name: subject_cn }: RootRequest,
) => ({ serial, issuer_id, role: '', subject_cn, not_before, not_after, der });

/** @see P-78 */
function parseKeySource(exported: string): KeySource {
  const source = KEY_SOURCES.find((one) => one === exported);
  if (source) return source;
  throw invalid(
    'the "exported" path parameter must be "internal", "existing", "exported" or "kms"',
  );
}

function planKey(request: RootRequest) {
  const wanted = request.key_type ?? 'rsa';
  const key_type = KEY_TYPES.find((type) => type === wanted);
  if (!key_type) {
    throw invalid(`unknown key type ${wanted.slice(0, 64)}`, {
      fields: { key_type: KEY_TYPES.join(', ') },
    });
  }
  const { key_bits } = resolveKeyParameters({
    key_type,
    key_bits: request.key_bits ?? 0,
    signature_bits: request.signature_bits,
  });
  return { key_type, key_bits };
}

function planFreshKey(
  app: App,
  mount_id: string,
  mountState: MountState,
  fresh: FreshKey,
  wanted: string | undefined,
): { key: Key; effects: Effect[] } {
  requireRoomForKey(mountState);
  const name = checkNewName('key', wanted, mountState.keys);
  const { key, insert } = sealKey(app, mount_id, fresh, name);
  return { key, effects: [insert] };
}

async function requireExistingKey(
  caller: Caller,
  mountState: MountState,
  request: RootRequest,
): Promise<Key> {
  if (request.key_type !== undefined || request.key_bits !== undefined) {
    throw invalid(
      'invalid parameter for the kms/existing path parameter, key_type nor key_bits arguments can be set in this mode',
    );
  }
  const key = resolveKey(mountState, request.key_ref);
  await refuseDeniedNow(caller, ownPaths(caller, 'key', key));
  return key;
}

const SERIAL_BYTES = 20;

/** Random bytes for the next serial numbers: fetched 64 at a time they cost a tenth. */
const serialBytes = perApp(() => ({ left: new Uint8Array(0) }));

/** Random, positive, 20 bytes: 159 bits that nobody can foresee (RFC 5280 §4.1.2.2). */
export function newSerialNumber(app: App): Uint8Array {
  const stock = serialBytes(app);
  if (stock.left.length < SERIAL_BYTES) {
    stock.left = Uint8Array.from(app.randomBytes(64 * SERIAL_BYTES));
  }
  const bytes = stock.left.slice(0, SERIAL_BYTES);
  stock.left = stock.left.subarray(SERIAL_BYTES);
  // The top bit is the sign; a first byte of zero would be left out of the text.
  bytes[0] = (bytes[0] ?? 0) & 0x7f || 1;
  return bytes;
}
