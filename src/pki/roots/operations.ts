import { refuseDenied, refuseDeniedNow } from '../../access/standing/operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { effectiveLeaseTtls, type Mount } from '../../app/mount.ts';
import { presentMount } from '../../mounts/operations.ts';
import { holdSettings } from '../../mounts/store.ts';
import type { Write } from '../../store/write.ts';
import type { SignatureAlgorithm } from '../../x509/algorithms.ts';
import { formatSerial } from '../../x509/serial.ts';
import { encodeCertificate, withPrivateKey } from '../certificates/answer.ts';
import { insertCertificate } from '../certificates/store.ts';
import { checkSignatureSizeOf } from '../fields/key-parameters.ts';
import { requireUnblockedKey } from '../keys/blocked.operations.ts';
import { type ChosenKey, parseKeySource, prepareKey } from '../keys/key-source.operations.ts';
import { signCertificate } from '../keys/signing.operations.ts';
import { DEFAULT_SETTINGS, type IssuerRecord } from '../mount-state/issuer.ts';
import { insertIssuer } from '../mount-state/issuers.store.ts';
import { checkNewName, type Key } from '../mount-state/key.ts';
import { changeMountState, planDefaultChange } from '../mount-state/operations.ts';
import { ownPaths } from '../mount-state/own-paths.ts';
import { requireRoomForIssuer } from '../mount-state/room.ts';
import type { MountState } from '../mount-state/state.ts';
import { planRootOnThread, requireSoundKeyOf } from '../planning/operations.ts';
import { isHeavyRequest } from '../planning/task.ts';
import { MOST_CA_BYTES } from '../profile/ca-request.ts';
import { checkCsrKey } from '../profile/csr-rules.ts';
import { planRoot, type RootRequest, type WantedRoot } from '../profile/root.ts';
import type { GeneratedRoot } from './generated-root.ts';

type RootInput = RootRequest & { exported: string };

/** Makes a root: a key, unless an existing one is to be used, and a certificate signed by it. */
export function generateRoot(app: App, caller: Caller, input: RootInput) {
  return makeRoot(app, caller, input, async ({ issuers }) =>
    checkNewName('issuer', input.issuer_name, issuers),
  );
}

/** The root that shall take the place of the default one: unless it is given a name, it is called so. */
export function rotateRoot(app: App, caller: Caller, input: RootInput) {
  return makeRoot(app, caller, input, async ({ issuers }) => {
    if (input.issuer_name !== undefined) return checkNewName('issuer', input.issuer_name, issuers);
    if ([...issuers.values()].some(({ name }) => name === NEXT)) return '';
    await refuseDeniedNow(caller, ownPaths(caller, 'issuer', { name: NEXT }));
    return NEXT;
  });
}

const NEXT = 'next';

async function makeRoot(
  app: App,
  caller: Caller,
  input: RootInput,
  chooseName: (mountState: MountState) => Promise<string>,
) {
  const source = parseKeySource(input.exported);
  const { exported: _, ...request } = input;
  checkSignatureSizeOf(request);
  await refuseDenied(caller, ownPaths(caller, 'issuer', { name: request.issuer_name }));
  const prepared = await prepareKey(app, caller, source, request);
  const mount_id = caller.mount.id;

  return changeMountState(app, caller, async (mountState) => {
    const issuer_name = await chooseName(mountState);
    const chosen = await prepared.choose(mountState);
    const { key } = chosen;
    const isOld = source === 'existing' || source === 'kms';
    const certifiable = isOld ? [await requireCertifiable(app, caller, key)] : [];
    const now_ms = app.now();
    const mount = await presentMount(app, caller.mount);
    const root = await signRoot(app, caller, { request, now_ms, mount, mountState, chosen });
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
      ...(prepared.handed_out
        ? withPrivateKey(certificates, prepared.handed_out, request)
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
        ...certifiable,
        ...chosen.effects,
        insertIssuer(mount_id, issuer),
        ...insertCertificate(mount_id, planRow(app, root, issuer, request), []),
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

/**
 * Refuses a key that was not made here for this root as it would be refused in a request for a certificate.
 *
 * @returns see {@link requireUnblockedKey}
 * @throws Failure `invalid` for a weak key, and for a blocked one
 */
async function requireCertifiable(app: App, caller: Caller, key: Key): Promise<Write> {
  checkCsrKey(key, { key_type: 'any', key_bits: 0 });
  await requireSoundKeyOf(app, caller, key, key.public_key);
  return requireUnblockedKey(app, caller.mount.id, key.public_key);
}

interface RootContext {
  request: RootRequest;
  now_ms: number;
  mount: Mount;
  mountState: MountState;
  chosen: ChosenKey;
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
  { request, now_ms, mount, mountState, chosen }: RootContext,
): Promise<SignedRoot> {
  const serialNumber = newSerialNumber(app);
  const wanted: WantedRoot = {
    request,
    now: Math.floor(now_ms / 1000),
    serialNumber,
    key: chosen.key,
    mount: effectiveLeaseTtls(mount.config),
    urls: mountState.urls,
    cluster: mountState.cluster,
  };
  const { tbs, warnings } = isHeavyRequest(request)
    ? await planRootOnThread(app, caller, wanted)
    : planRoot(wanted);
  return {
    der: await signCertificate(tbs, chosen.sign, MOST_CA_BYTES),
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
  revocation_reason: 0,
  modified_at_ms: now_ms,
  created_at_ms: now_ms,
  version: 0,
});

/** The certificate as it is kept among those of the mount. */
const planRow = (
  app: App,
  { der, serial_number: serial, not_before, not_after }: SignedRoot,
  { id: issuer_id }: IssuerRecord,
  { common_name: subject_cn }: RootRequest,
) => ({
  serial,
  issuer_id,
  role: '',
  subject_cn,
  not_before,
  not_after,
  der,
  clusters: app.config.cluster_name,
});

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
