import { createHash, createSign } from 'node:crypto';
import { refuseDeniedNow } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { BytesResult } from '../../app/output.ts';
import { invalid } from '../../core/failure.ts';
import { formatTimestamp } from '../../core/timestamps.ts';
import { encodeSubject } from '../../x509/names.ts';
import { certifyOwnKey, type OwnKey } from '../issuance/own-keys.operations.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { readMountState } from '../mount-state/operations.ts';
import { LOOKED_UP, ownPaths } from '../mount-state/own-paths.ts';
import { resolveSigningIssuer } from '../mount-state/state.ts';
import { chooseOwnSubject } from '../profile/own-subject.ts';
import { type Exported, type ExportFormat, planExportSigner } from './format.ts';
import { readStored } from './store.ts';

/**
 * Every stored certificate of the mount, and at the end who vouches for that: a key that an issuer has certified for
 * this alone. It is read while it is sent; what is issued or revoked meanwhile may be in it or not.
 */
export async function exportCertificates(
  app: App,
  caller: Caller,
  { issuer_ref }: { issuer_ref: string },
  format: ExportFormat,
): Promise<BytesResult> {
  const signing = resolveSigningIssuer(await readMountState(app, caller.mount.id), issuer_ref);
  const { issuer } = signing;
  await refuseDeniedNow(
    caller,
    ownPaths(caller, 'issuer', { ref: issuer_ref, id: issuer.id, name: issuer.name }, LOOKED_UP),
  );
  const now = Math.floor(app.now() / 1000);
  const subject = requireSubject(issuer);
  const validity = { now, issuer_end: issuer.certificate.notAfter };
  const own = await certifyOwnKey(app, caller, signing, {
    wanted: { key_type: 'ec', key_bits: 256 },
    plan: (signer) => planExportSigner(signer, subject, validity),
    work: 'certs/export',
  });
  const pages = readStored(app.db, caller.mount.id);
  return {
    bytes: {
      length: undefined,
      pieces: () => writeExport(pages, format, { own, issuer, now }),
    },
  };
}

const COMMON_NAME = 'Certificate export';

/** @throws Failure `invalid` where nobody could verify what it would be the name in */
function requireSubject(issuer: Issuer): Uint8Array {
  const subject = chooseOwnSubject(issuer, COMMON_NAME);
  if (subject) return subject;
  if (issuer.settings.disable_name_constraint_checks) {
    return encodeSubject({ common_name: COMMON_NAME });
  }
  throw invalid(
    `the name constraints of the issuer, or above it, let no certificate be made that signs an export: they have no room for "CN=${COMMON_NAME}"`,
    { fields: { issuer_ref: 'an issuer beneath whose name constraints there is room' } },
  );
}

/** One export: what vouches for it, and when it was begun (Unix seconds). */
interface Vouching {
  own: OwnKey;
  issuer: Issuer;
  now: number;
}

async function* writeExport(
  pages: AsyncIterable<readonly Exported[]>,
  format: ExportFormat,
  vouching: Vouching,
): AsyncGenerator<Uint8Array> {
  const digest = createHash('sha256');
  const signature = createSign('sha256');
  let count = 0;
  const note = (text: string): Uint8Array => {
    const bytes = Buffer.from(text, 'utf8');
    digest.update(bytes);
    signature.update(bytes);
    return bytes;
  };
  if (format.head !== '') yield note(format.head);
  for await (const certificates of pages) {
    count += certificates.length;
    yield note(certificates.map((one) => format.line(one)).join(''));
  }
  const { own, issuer, now } = vouching;
  yield Buffer.from(
    format.trailer({
      count,
      sha256: digest.digest('hex'),
      created: formatTimestamp(now),
      algorithm: 'ECDSAWithSHA256',
      signature: signature.sign(own.private_key, 'base64'),
      certificate: Buffer.from(own.certificate).toString('base64'),
      issuing_ca: Buffer.from(issuer.certificate.raw).toString('base64'),
    }),
    'utf8',
  );
}
