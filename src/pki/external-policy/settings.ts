import { z } from 'zod';
import { parseUrl } from '../../core/domain-names.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { duration, flag, text } from '../../core/fields.ts';
import { parseExpression } from '../../core/jmespath/parser.ts';
import { mergePatch, patchOf } from '../../core/patches.ts';
import { encodePem, type PemBlock, parsePem } from '../../core/pem.ts';
import { type Certificate, parseCertificate } from '../../x509/certificate.ts';
import { publicKeyInfo } from '../../x509/keys.ts';
import {
  exportPrivateKey,
  isPrivateKeyLabel,
  parsePrivateKeyBlock,
} from '../../x509/private-keys.ts';
import { mayBeSlowToRead } from '../../x509/slow-certificates.ts';
import { pemText } from '../fields/field-kinds.ts';

/** The fields of `config/external-policy`. */
export const policyFields = {
  enabled: flag(false).describe('Without it the external-policy paths refuse every request.'),
  external_service_url: text('').describe('Where requests are sent, with `https://`.'),
  timeout: duration(15).describe('Seconds for a request and its answer together, 1 to 60.'),
  trusted_ca: pemText('').describe(
    'PEM of CAs that the certificate of the service is verified by.',
  ),
  trusted_leaf_certificate_bundle: pemText('').describe(
    'PEM of certificates of which the service has to show one. One of the two is needed.',
  ),
  vault_client_cert_bundle: pemText('').describe(
    'PEM of a private key and certificates that are shown to the service.',
  ),
  entity_jmespath: text('').describe(
    'What of the entity is sent, a JMESPath; "@" is everything, nothing: its id alone.',
  ),
  group_jmespath: text('').describe(
    'What of the list of its groups is sent, a JMESPath; "@" is everything, nothing: none of them.',
  ),
};
export const policyPatchSchema = patchOf(policyFields);
export type PolicyPatch = z.output<typeof policyPatchSchema>;

/** How the service of a mount is reached, and what it is told; without the private key. */
export const policySettingsSchema = z.object({
  enabled: z.boolean(),
  external_service_url: z.string(),
  /** Seconds. */
  timeout: z.int(),
  trusted_ca: z.string(),
  trusted_leaf_certificate_bundle: z.string(),
  /** Certificates alone, the client's first. */
  vault_client_cert_bundle: z.string(),
  entity_jmespath: z.string(),
  group_jmespath: z.string(),
});
export type PolicySettings = z.output<typeof policySettingsSchema>;

export const NO_POLICY: PolicySettings = {
  enabled: false,
  external_service_url: '',
  timeout: 15,
  trusted_ca: '',
  trusted_leaf_certificate_bundle: '',
  vault_client_cert_bundle: '',
  entity_jmespath: '',
  group_jmespath: '',
};

/** Seconds. */
const TIMEOUTS = { least: 1, most: 60, usual: 15 };
const LONGEST_URL = 2_048;
/** Characters of one bundle. */
const LONGEST_BUNDLE = 64 << 10;

interface PlannedPolicy {
  settings: PolicySettings;
  /** PKCS #8 in DER, of a client certificate that was sent; null where none is used any more; undefined: as before. */
  client_key: Uint8Array | null | undefined;
}

/**
 * Applies what was sent to the settings that there are.
 *
 * @throws Failure `invalid` naming the field
 */
export function planPolicy(existing: PolicySettings, patch: PolicyPatch): PlannedPolicy {
  const { vault_client_cert_bundle: sent, ...rest } = patch;
  const client = sent === undefined ? undefined : readClient(sent);
  const settings = mergePatch(existing, rest);
  if (client) settings.vault_client_cert_bundle = client.certificates;
  if (settings.timeout === 0) settings.timeout = TIMEOUTS.usual;
  if (settings.timeout < TIMEOUTS.least || settings.timeout > TIMEOUTS.most) {
    throw wrong('timeout', `from ${TIMEOUTS.least}s to ${TIMEOUTS.most}s`);
  }
  checkUrl(settings.external_service_url);
  for (const field of ['trusted_ca', 'trusted_leaf_certificate_bundle'] as const) {
    if (patch[field] !== undefined) settings[field] = readCertificates(field, settings[field]).pem;
  }
  if (settings.trusted_ca === '' && settings.trusted_leaf_certificate_bundle === '') {
    throw wrong('trusted_ca', 'certificates in PEM, or trusted_leaf_certificate_bundle');
  }
  for (const field of ['entity_jmespath', 'group_jmespath'] as const) {
    settings[field] = settings[field].trim();
    checkExpression(field, settings[field]);
  }
  return { settings, client_key: client?.key };
}

function wrong(field: keyof PolicySettings, wanted: string, because = 'cannot be used'): Failure {
  return invalid(`${field} ${because}: ${wanted}`, { fields: { [field]: wanted } });
}

function checkUrl(written: string): void {
  const wanted = 'a URL that begins with https://, without user, password or fragment';
  const url = written.length <= LONGEST_URL ? parseUrl(written) : undefined;
  const isFit =
    url !== undefined &&
    /^https:\/\/[^/]/i.test(written) &&
    url.protocol === 'https:' &&
    url.username === '' &&
    url.password === '' &&
    url.hash === '' &&
    /^[!-~]+$/.test(written);
  // What may let somebody in is not repeated.
  if (!isFit) throw wrong('external_service_url', wanted);
}

function checkExpression(field: 'entity_jmespath' | 'group_jmespath', written: string): void {
  if (written === '') return;
  try {
    parseExpression(written);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw wrong(field, error.message, 'is no JMESPath');
  }
}

const CERTIFICATE = 'CERTIFICATE';
type Bundle = 'trusted_ca' | 'trusted_leaf_certificate_bundle' | 'vault_client_cert_bundle';

/** Of certificates alone, in one form whatever stood around them. */
function readCertificates(
  field: Bundle,
  written: string,
): { pem: string; certificates: Certificate[] } {
  if (written.trim() === '') return { pem: '', certificates: [] };
  const wanted = 'certificates in PEM';
  const blocks = readBlocks(field, written);
  if (blocks.length === 0 || blocks.some(({ label }) => label !== CERTIFICATE)) {
    throw wrong(field, wanted);
  }
  return encodeAll(field, blocks);
}

function encodeAll(
  field: Bundle,
  blocks: readonly PemBlock[],
): { pem: string; certificates: Certificate[] } {
  const pem = blocks.map(({ der }) => `${encodePem(CERTIFICATE, der)}\n`).join('');
  if (mayBeSlowToRead(pem)) {
    throw wrong(
      field,
      'keys are RSA, EC on a NIST curve or Ed25519, and name constraints short',
      'takes long to verify',
    );
  }
  try {
    return { pem, certificates: blocks.map(({ der }) => parseCertificate(der)) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw wrong(field, 'certificates in PEM', error.message);
  }
}

function readBlocks(field: Bundle, written: string): PemBlock[] {
  if (written.length > LONGEST_BUNDLE) {
    throw wrong(field, `at most ${LONGEST_BUNDLE} characters`);
  }
  try {
    return parsePem(written);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw wrong(field, 'PEM', error.message);
  }
}

/** A key and its certificate, whichever comes first, and those above it; nothing for an empty text. */
function readClient(written: string): { certificates: string; key: Uint8Array | null } {
  if (written.trim() === '') return { certificates: '', key: null };
  const field = 'vault_client_cert_bundle';
  const blocks = readBlocks(field, written);
  const keys = blocks.filter(({ label }) => isPrivateKeyLabel(label));
  const rest = blocks.filter(({ label }) => !isPrivateKeyLabel(label));
  const [block] = keys;
  if (!block || keys.length > 1 || rest.length === 0) {
    throw wrong(field, 'one private key and its certificate in PEM');
  }
  if (rest.some(({ label }) => label !== CERTIFICATE)) {
    throw wrong(field, 'one private key, and certificates');
  }
  const key = parsePrivateKeyBlock(block);
  const { certificates } = encodeAll(field, rest);
  const own = Buffer.from(publicKeyInfo(key));
  const at = certificates.findIndex(({ subjectPublicKeyInfo }) => own.equals(subjectPublicKeyInfo));
  const client = rest[at];
  if (!client) throw wrong(field, 'a private key and its certificate', 'has no such pair');
  const ordered = [client, ...rest.filter((one) => one !== client)];
  return {
    certificates: encodeAll(field, ordered).pem,
    key: exportPrivateKey(key, 'pkcs8', 'der'),
  };
}

/** How the service was on this node since the configuration is what it is. */
export interface ServiceStatus {
  /** Unix milliseconds of the last answer that could be read; undefined for none. */
  answered_at_ms: number | undefined;
}

/** The answer to a read. */
export const policyAnswerSchema = policySettingsSchema.extend({
  timeout: z.int().describe('Nanoseconds.'),
  vault_client_cert_bundle: z
    .string()
    .describe('Certificates alone; the private key is never told.'),
  external_service_last_updated: z.string().describe('When these settings were last changed.'),
  external_service_validated: z
    .boolean()
    .describe('Whether the service has answered this node since the settings are what they are.'),
  last_successful_request: z.string().describe('When it last did; empty for never.'),
});
export type PolicyAnswer = z.output<typeof policyAnswerSchema>;

const NEVER = '0001-01-01T00:00:00Z';
const NANOSECONDS = 1_000_000_000;

export function describePolicy(
  settings: PolicySettings,
  updated_at_ms: number | undefined,
  { answered_at_ms }: ServiceStatus,
): PolicyAnswer {
  const timeOf = (ms: number): string => new Date(ms).toISOString();
  return {
    ...settings,
    timeout: settings.timeout * NANOSECONDS,
    external_service_last_updated: updated_at_ms === undefined ? NEVER : timeOf(updated_at_ms),
    external_service_validated: answered_at_ms !== undefined,
    last_successful_request: answered_at_ms === undefined ? '' : timeOf(answered_at_ms),
  };
}
