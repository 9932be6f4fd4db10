import { hash } from 'node:crypto';
import { Failure, invalid } from '../../core/failure.ts';
import { type PemBlock, type PemCaps, readPem } from '../../core/pem.ts';
import { type Certificate, parseCertificate } from '../../x509/certificate.ts';
import { findExtension } from '../../x509/extensions.ts';
import { parsePublicKey } from '../../x509/keys.ts';
import { parseNameConstraints } from '../../x509/name-constraints.ts';
import { isEmptyName } from '../../x509/names.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import { isPrivateKeyLabel } from '../../x509/private-keys.ts';

/** Bytes of a request that imports: a thousand authorities with their keys. */
export const MOST_BUNDLE_BYTES = 3 << 20;
const CAPS: PemCaps = { maxLength: MOST_BUNDLE_BYTES, maxBlocks: 4096 };
/** A shorter text is no certificate. */
const LEAST_LENGTH = 75;
/** Of an authority's certificate, which goes with all that it signs. */
const MOST_BLOCK_BYTES = 64 << 10;

/** What a bundle has, each once and in its order. */
interface Bundle {
  /** DER. */
  certificates: Uint8Array[];
  keys: PemBlock[];
}

/** `X509 CERTIFICATE` is the name that old tools write. */
const CERTIFICATES: ReadonlySet<string> = new Set(['CERTIFICATE', 'X509 CERTIFICATE']);
/** What other tools put into the same file, and nobody needs here. */
const IGNORED: ReadonlySet<string> = new Set([
  'X509 CRL',
  'CRL',
  'EC PARAMETERS',
  'EC PARAMS',
  'DH PARAMETERS',
]);

/** Work in steps, of which there may be thousands: whoever takes them lets others go first in between. */
type Steps<Read> = Generator<undefined, Read, undefined>;

/** Takes all steps. @param rest called between two of them */
export async function takeSteps<Read>(
  steps: Steps<Read>,
  rest: () => Promise<void>,
): Promise<Read> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await rest();
  }
}

/**
 * Sorts the blocks of a text, in whatever order they come.
 *
 * @param mayHaveKeys whether private keys are taken
 * @throws Failure `invalid` for what is no PEM, and for blocks that are not taken
 * @see P-228
 */
export function* readBundle(text: string, mayHaveKeys: boolean): Steps<Bundle> {
  if (text.length < LEAST_LENGTH) {
    throw invalid(
      'provided data for import was too short; perhaps a path was passed to the API rather than the contents of a PEM file?',
    );
  }
  const bundle: Bundle = { certificates: [], keys: [] };
  const seen = new Set<string>();
  let count = 0;
  for (const block of readPem(text, CAPS)) {
    count += 1;
    yield;
    if (IGNORED.has(block.label)) continue;
    const isCertificate = CERTIFICATES.has(block.label);
    if (!isCertificate) requireKey(block.label, mayHaveKeys);
    if (block.der.length > MOST_BLOCK_BYTES) {
      throw invalid(
        `a PEM block of ${block.der.length} bytes, at most ${MOST_BLOCK_BYTES} are accepted`,
      );
    }
    const known = hash('sha256', block.der, 'base64');
    if (seen.has(known)) continue;
    seen.add(known);
    if (isCertificate) bundle.certificates.push(block.der);
    else bundle.keys.push(block);
  }
  if (count === 0) throw invalid('error when parsing block 0: invalid PEM data');
  return bundle;
}

function requireKey(label: string, mayHaveKeys: boolean): void {
  if (!isPrivateKeyLabel(label)) {
    throw invalid(
      `a PEM block "${label}" where CERTIFICATE${mayHaveKeys ? ' or a private key' : ''} is accepted`,
    );
  }
  if (mayHaveKeys) return;
  throw invalid(
    'private keys found in the PEM bundle but not allowed by the path; use /issuers/import/bundle',
  );
}

/**
 * Reads the certificates of authorities.
 *
 * @throws Failure `invalid` for one that is none, or that nothing could be signed or verified by here
 * @see P-229
 */
export function* readAuthorities(certificates: readonly Uint8Array[]): Steps<Certificate[]> {
  const read: Certificate[] = [];
  for (const [at, der] of certificates.entries()) {
    read.push(within(`Error parsing issuer ${at}`, () => readAuthority(der)));
    yield;
  }
  return read;
}

function readAuthority(der: Uint8Array): Certificate {
  const certificate = parseCertificate(der);
  if (!certificate.isCa) throw invalid('Refusing to import non-CA certificate');
  if (isEmptyName(certificate.subject)) {
    throw invalid('a certificate without a subject, which an authority needs');
  }
  // Whether its point is on its curve shows only where the key is used.
  parsePublicKey(certificate.subjectPublicKeyInfo);
  const constraints = findExtension(certificate.extensions, EXTENSION_OID.nameConstraints);
  if (constraints) parseNameConstraints(constraints.value);
  return certificate;
}

/** Says what was being read in a refusal. */
export function within<Read>(what: string, read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    throw tellWhere(what, error);
  }
}

export function tellWhere(what: string, error: unknown): unknown {
  if (!(error instanceof Failure) || error.kind !== 'invalid') return error;
  return invalid(`${what}: ${error.message}`, { cause: error });
}
