/** What a server has made by the time it answers, and goes on with unless it is told to end it. */
export interface MadeLease {
  lease_id: string;
  /** Seconds; 0 where none is said. */
  lease_duration: number;
  renewable: boolean;
}

/** So much of an answer is looked at for its lease, which comes before the secret; a longer id is not known. */
export const BEGINNING = 16_384;

/** One member of an object with a plain value, at its place. */
const MEMBER =
  /\s*("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*"|[-+.\deE]+|true|false|null)\s*[,}]/y;

/** The lease that an answer speaks of, as far as the answer came: it may be too long, broken off, or no JSON at all. */
export function findMadeLease(text: string): MadeLease | undefined {
  const beginning = text.slice(0, BEGINNING);
  const start = /^\s*\{/.exec(beginning);
  if (!start) return undefined;
  const said: Record<string, unknown> = {};
  // What does not match puts it back to 0.
  MEMBER.lastIndex = start[0].length;
  for (let found = MEMBER.exec(beginning); found; found = MEMBER.exec(beginning)) {
    const [, name = '', value = ''] = found;
    said[String(readValue(name))] = readValue(value);
  }
  return madeLeaseOf(said);
}

/** @returns undefined for what is no JSON */
export function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @returns undefined for an answer that speaks of no lease, or of one with an id that no server makes */
export function madeLeaseOf(answer: Readonly<Record<string, unknown>>): MadeLease | undefined {
  const { lease_id, lease_duration, renewable } = answer;
  if (typeof lease_id !== 'string' || lease_id === '') return undefined;
  if (lease_id.length > BEGINNING) return undefined;
  return {
    lease_id,
    lease_duration: wholeSeconds(lease_duration) ?? 0,
    renewable: renewable === true,
  };
}

/** Characters; those of Vault servers have some hundreds. */
const LONGEST_TOKEN = 8_192;

/** The token that an answer is instead of a secret; undefined for one that cannot be sent. */
export function madeTokenOf(answer: Readonly<Record<string, unknown>>): string | undefined {
  const token = Object(answer.auth).client_token;
  if (typeof token !== 'string' || token.length > LONGEST_TOKEN) return undefined;
  return /^[!-~]+$/.test(token) ? token : undefined;
}

export function wholeSeconds(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value < 2 ** 40 ? Math.floor(value) : undefined;
}
