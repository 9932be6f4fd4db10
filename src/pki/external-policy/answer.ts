/** Why a service has given no answer that can be read. */
export type PolicyFaultKind =
  | 'barred'
  | 'unreachable'
  | 'untrusted'
  | 'late'
  | 'status'
  | 'malformed'
  | 'busy';

/** What a service did wrong, in words that repeat nothing that it has said. */
export class PolicyFault extends Error {
  readonly kind: PolicyFaultKind;

  constructor(kind: PolicyFaultKind, message: string) {
    super(message);
    this.name = 'PolicyFault';
    this.kind = kind;
  }
}

/** What a service has said; nothing of it is believed yet. */
export interface PolicyAnswer {
  request_uuid: string;
  /** Empty for none. */
  error: string;
  warnings: readonly string[];
  /** PEM; empty for none. */
  certificate: string;
  /** Empty: the issuer that was asked for. */
  issuer_ref: string;
  store_certificate: boolean;
  generate_lease: boolean;
}

/** Bytes of an answer: the longest certificate that is taken is a fraction of it. */
export const LONGEST_ANSWER = 256 << 10;
/** Warnings that are passed on, and characters of each. */
const MOST_WARNINGS = 32;
const LONGEST_WORDS = 1_024;
const LONGEST_NAME = 512;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads an answer. Fields that are not known are left out, however deep they are.
 *
 * @param text of {@link LONGEST_ANSWER} at most
 * @throws PolicyFault `malformed` naming the field
 */
export function parsePolicyAnswer(text: string): PolicyAnswer {
  const fields = findObject(text);
  if (!fields) throw malformed('its answer is no JSON object');
  return {
    request_uuid: readText(fields, 'request_uuid', LONGEST_NAME),
    error: plainWords(readText(fields, 'error', LONGEST_ANSWER)),
    warnings: readWarnings(fields),
    certificate: readText(fields, 'certificate', LONGEST_ANSWER),
    issuer_ref: readText(fields, 'issuer_ref', LONGEST_NAME).trim(),
    store_certificate: readFlag(fields, 'store_certificate'),
    generate_lease: readFlag(fields, 'generate_lease'),
  };
}

const malformed = (what: string): PolicyFault => new PolicyFault('malformed', what);

function findObject(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value))
      : undefined;
  } catch {
    return undefined;
  }
}

/** Absent and null are nothing, as programs write what they have not set. */
function readText(fields: Fields, name: string, most: number): string {
  const value = fields[name] ?? '';
  if (typeof value !== 'string') throw malformed(`"${name}" of its answer is no text`);
  if (value.length > most) throw malformed(`"${name}" of its answer is too long`);
  return value;
}

function readFlag(fields: Fields, name: string): boolean {
  const value = fields[name] ?? false;
  if (typeof value !== 'boolean')
    throw malformed(`"${name}" of its answer is neither true nor false`);
  return value;
}

function readWarnings(fields: Fields): string[] {
  const value = fields.warnings ?? [];
  if (!Array.isArray(value)) throw malformed('"warnings" of its answer is no list');
  return value.slice(0, MOST_WARNINGS).map((one: unknown) => {
    if (typeof one !== 'string') throw malformed('"warnings" of its answer has what is no text');
    return plainWords(one);
  });
}

/** Words of others as they are passed on: on one line, not too long, and nothing that a terminal obeys. */
function plainWords(words: string): string {
  return words
    .slice(0, LONGEST_WORDS)
    .replaceAll(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ')
    .trim();
}
