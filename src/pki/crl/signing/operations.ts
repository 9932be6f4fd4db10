import { signInTurn } from '../../../access/concurrency/signatures.operations.ts';
import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import { invalid } from '../../../core/failure.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import { encodePem, parsePem } from '../../../core/pem.ts';
import { encodeCrlFrame } from '../../../x509/crl.ts';
import { layOutCrl } from '../../../x509/crl-assembly.ts';
import { type Crl, isCrlSignedBy, parseCrl } from '../../../x509/crl-reader.ts';
import type { Extension } from '../../../x509/extensions.ts';
import { keyIdentifier } from '../../../x509/keys.ts';
import { RevokedEntriesWriter, type RevokedEntry } from '../../../x509/revoked-certificates.ts';
import { formatSerial } from '../../../x509/serial.ts';
import { signatureRoom } from '../../../x509/signature-costs.ts';
import { signWithKey } from '../../keys/signing.operations.ts';
import type { Issuer } from '../../mount-state/issuer.ts';
import type { Key } from '../../mount-state/key.ts';
import { readMountState } from '../../mount-state/operations.ts';
import { resolveIssuer } from '../../mount-state/state.ts';
import { chooseCrlAlgorithm } from '../algorithm.ts';
import {
  type CheckedRequest,
  type CrlRequest,
  checkRequest,
  parseCrlExtensions,
  parseRevokedItem,
} from './request.ts';

/** RFC 5280 §5.3.1: of an entry that takes another one back. */
const REMOVE_FROM_CRL = 8;

/** Makes one CRL of several that the issuer has signed. Nothing is stored. @see P-301 */
export async function resignCrls(
  app: App,
  caller: Caller,
  input: CrlRequest & { issuer_ref: string; crls: string[] },
) {
  const request = checkRequest(input);
  const signer = await requireSigner(app, caller, input.issuer_ref);
  const breath = new Breath();
  const entries = new Map<string, RevokedEntry>();
  let differing = 0;
  let removing = 0;
  for (const crl of await readCrls(input.crls, signer.issuer, breath)) {
    for (const { serialNumber, revocationTime, reason } of readEntries(crl)) {
      if (breath.isDue) await breath.take();
      if (reason === REMOVE_FROM_CRL) {
        removing++;
        continue;
      }
      const serial = formatSerial(serialNumber);
      const known = entries.get(serial);
      if (known && known.revocationTime !== revocationTime) differing++;
      if (known && known.revocationTime <= revocationTime) continue;
      entries.set(serial, { serialNumber, revocationTime });
    }
  }
  const signed = await signEntries(app, caller, { signer, request, entries, extensions: [] });
  return { ...signed, warnings: [...warnOfDiffering(differing), ...warnOfRemoving(removing)] };
}

const warnOfDiffering = (count: number): string[] =>
  count === 0
    ? []
    : [`Duplicate serial numbers with other revocation times: ${count}; the earliest were kept`];

const warnOfRemoving = (count: number): string[] =>
  count === 0 ? [] : [`Entries that only take others back (removeFromCRL) were left out: ${count}`];

async function readCrls(
  texts: readonly string[],
  issuer: Issuer,
  breath: Breath,
): Promise<readonly Crl[]> {
  const crls: Crl[] = [];
  for (const text of texts) {
    const blocks = parsePem(text);
    if (blocks.length === 0) throw invalid(`CRL index: ${crls.length} has no PEM data`);
    for (const { label, der } of blocks) {
      const index = crls.length;
      if (label !== 'X509 CRL') throw invalid(`CRL index: ${index} is no X509 CRL in PEM`);
      const crl = readOne(der, index);
      const { subject, subjectPublicKeyInfo } = issuer.certificate;
      const isOwn = Buffer.compare(crl.issuer, subject) === 0;
      if (!isOwn || !isCrlSignedBy(crl, subjectPublicKeyInfo)) {
        throw invalid(`CRL index: ${index} was not signed by requested issuer`);
      }
      crls.push(crl);
      await breath.take();
    }
  }
  if (crls.length === 0) throw invalid('crls: at least one CRL is needed');
  return crls;
}

function readOne(der: Uint8Array, index: number): Crl {
  try {
    return parseCrl(der);
  } catch (cause) {
    throw invalid(`CRL index: ${index} could not be parsed`, { cause });
  }
}

/** As {@link Crl.entries}; what it throws is told as any other mistake in the request. */
function* readEntries(crl: Crl): Generator<RevokedEntry, void, undefined> {
  try {
    yield* crl.entries();
  } catch (cause) {
    throw invalid('an entry of a CRL could not be parsed', { cause });
  }
}

/** Signs a CRL of what the caller names. Nothing is stored, and nobody asks whether it was issued here. @see P-300 */
export async function signRevocationList(
  app: App,
  caller: Caller,
  input: CrlRequest & {
    issuer_ref: string;
    revoked_certs: Record<string, unknown>[];
    extensions: Record<string, unknown>[];
  },
) {
  const request = checkRequest(input);
  const extensions = parseCrlExtensions(input.extensions);
  const signer = await requireSigner(app, caller, input.issuer_ref);
  const breath = new Breath();
  const entries = new Map<string, RevokedEntry>();
  for (const item of input.revoked_certs) {
    const { serial, ...entry } = parseRevokedItem(item);
    if (entries.has(serial))
      throw invalid(`revoked_certs: the serial number ${serial} comes twice`);
    entries.set(serial, entry);
    if (breath.isDue) await breath.take();
  }
  return signEntries(app, caller, { signer, request, entries, extensions });
}

interface Signer {
  issuer: Issuer;
  key: Key;
}

/** @throws Failure `invalid` for an issuer that may not sign CRLs, or has no key here */
async function requireSigner(app: App, caller: Caller, ref: string): Promise<Signer> {
  const mountState = await readMountState(app, caller.mount.id);
  const issuer = resolveIssuer(mountState, ref);
  const key = mountState.keys.get(issuer.key_id);
  if (!key) throw invalid(`the key of issuer ${issuer.id} is not in this mount`);
  if (!issuer.settings.usage.includes('crl-signing')) {
    throw invalid(`issuer ${issuer.id} lacks the usage crl-signing`);
  }
  caller.record.outcome.issuer_id = issuer.id;
  return { issuer, key };
}

/** What is to be signed. */
interface Content {
  signer: Signer;
  request: CheckedRequest;
  entries: ReadonlyMap<string, RevokedEntry>;
  extensions: readonly Extension[];
}

async function signEntries(app: App, caller: Caller, content: Content) {
  const { signer, request, entries, extensions } = content;
  const { issuer, key } = signer;
  const writer = new RevokedEntriesWriter();
  for (const entry of entries.values()) writer.append(entry);
  // Which these are would be as long as the list.
  caller.record.outcome.entries = entries.size;
  const algorithm = chooseCrlAlgorithm(issuer, key);
  const thisUpdate = Math.floor(app.now() / 1000);
  const { base_number } = request;
  const frame = encodeCrlFrame({
    issuer: issuer.certificate.subject,
    signatureAlgorithm: algorithm,
    thisUpdate,
    nextUpdate: thisUpdate + request.lifetime,
    crlNumber: BigInt(request.crl_number),
    authorityKeyId: issuer.certificate.subjectKeyId ?? keyIdentifier(key.public_key),
    ...(base_number !== undefined && { deltaBase: BigInt(base_number) }),
    extensions,
  });
  const unsigned = layOutCrl(
    frame,
    writer,
    undefined,
    (length) => new Uint8Array(length),
    signatureRoom(algorithm),
  );
  const signature = await signInTurn(app, caller, key, () =>
    signWithKey(app, caller.mount.id, key, algorithm, unsigned.tbs),
  );
  const { der } = unsigned.attachSignature(algorithm, signature);
  const crl =
    request.format === 'pem'
      ? encodePem('X509 CRL', der, { trailingNewline: true })
      : Buffer.from(der.buffer, der.byteOffset, der.length).toString('base64');
  return { data: { crl } };
}
