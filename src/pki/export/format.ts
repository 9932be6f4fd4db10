import { formatTimestamp } from '../../core/timestamps.ts';
import { NO_URLS } from '../mount-state/urls.ts';
import type { CertificatePlan, Signer } from '../profile/plan.ts';

/** What an export tells of each certificate, in this order. */
const COLUMNS = [
  'serial_number',
  'common_name',
  'issuer_id',
  'role',
  'not_before',
  'not_after',
  'revocation_time',
  'certificate',
] as const;

/** A stored certificate. Times in Unix seconds, but for that of the revocation. */
export interface Exported {
  serial: string;
  subject_cn: string;
  issuer_id: string;
  role: string;
  not_before: number;
  not_after: number;
  revoked_at_ms: number | null;
  der: Uint8Array;
}

/** How the lines of an export are written; each ends with a line feed. */
export interface ExportFormat {
  media_type: string;
  head: string;
  line(certificate: Exported): string;
  /** The last line, which is not among what is signed. */
  trailer(signature: ExportSignature): string;
}

/** Who vouches for an export. */
export interface ExportSignature {
  /** Certificates in it. */
  count: number;
  /** SHA-256 of all lines before, in hex. */
  sha256: string;
  /** When it was begun, RFC 3339. */
  created: string;
  algorithm: string;
  /** Of all bytes before, base64. */
  signature: string;
  /** Base64 of DER: of the key that signed, and its issuer's. */
  certificate: string;
  issuing_ca: string;
}

type Told = Record<(typeof COLUMNS)[number], string>;

const tell = (certificate: Exported): Told => ({
  serial_number: certificate.serial,
  common_name: certificate.subject_cn,
  issuer_id: certificate.issuer_id,
  role: certificate.role,
  not_before: formatTimestamp(certificate.not_before),
  not_after: formatTimestamp(certificate.not_after),
  revocation_time:
    certificate.revoked_at_ms === null
      ? ''
      : formatTimestamp(Math.floor(certificate.revoked_at_ms / 1000)),
  certificate: Buffer.from(certificate.der).toString('base64'),
});

/** One JSON object a line. */
export const JSON_LINES: ExportFormat = {
  media_type: 'application/jsonl',
  head: '',
  line: (certificate) => `${JSON.stringify(tell(certificate))}\n`,
  trailer: (signature) => `${JSON.stringify({ export: signature })}\n`,
};

/** RFC 4180, with a line feed alone, and a comment at its end. */
export const CSV: ExportFormat = {
  media_type: 'text/csv; charset=utf-8',
  head: `${COLUMNS.join(',')}\n`,
  line: (certificate) => {
    const told = tell(certificate);
    return `${COLUMNS.map((column) => encodeCell(told[column])).join(',')}\n`;
  },
  trailer: (signature) => `# ${JSON.stringify({ export: signature })}\n`,
};

/** Also behind white space, which some leave out, and in the full width that East Asian ones take as well. */
const FORMULA = /^\s*[=+\-@#\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

/**
 * A spreadsheet would run what begins like a formula, and a line that begins with "#" would be a comment: such text
 * begins with an apostrophe.
 */
function encodeCell(text: string): string {
  const shown = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

/** RFC 9336: the key signs documents. */
const DOCUMENT_SIGNING = '1.3.6.1.5.5.7.3.36';

/** The certificate of a key that signs one export and is gone then. Unix seconds. @param subject DER of the Name */
export function planExportSigner(
  signer: Signer,
  subject: Uint8Array,
  { now, issuer_end }: { now: number; issuer_end: number },
): CertificatePlan {
  return {
    subject,
    names: { dns: [], email: [], ip: [], uri: [], other: [] },
    signer,
    notBefore: now,
    notAfter: issuer_end,
    key_usage: ['DigitalSignature'],
    ext_key_usage: [DOCUMENT_SIGNING],
    urls: NO_URLS,
    name_constraints: {},
    extra_extensions: [],
    signature_bits: 0,
    use_pss: false,
  };
}
