/** Seconds in one of each unit that a duration text may use. */
const UNITS: Record<string, number> = {
  ns: 1e-9,
  us: 1e-6,
  '\u00b5s': 1e-6, // micro sign
  '\u03bcs': 1e-6, // Greek mu
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
};

const TERMS = /(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y;

/** The longest duration that is accepted: what 64-bit nanoseconds can count, about 292 years. */
const MAX_DURATION = 9_223_372_036;

/**
 * Reads a duration text: seconds (`3600`), terms with units (`1h30m`, `1.5h`, `500ms`) or whole
 * days (`7d`). Weeks and years are not accepted. The empty text is zero.
 *
 * @returns seconds, possibly fractional, negative with a leading `-`; `undefined` when the text
 *          is no duration or counts more than {@link MAX_DURATION} seconds
 * @see S-9
 */
export function parseDuration(text: string): number | undefined {
  if (text === '') return 0;
  const negative = text.startsWith('-');
  const unsigned = negative || text.startsWith('+') ? text.slice(1) : text;
  const seconds = parseUnsigned(unsigned);
  if (seconds === undefined || seconds > MAX_DURATION) return undefined;
  return negative && seconds !== 0 ? -seconds : seconds;
}

function parseUnsigned(text: string): number | undefined {
  if (text.length > 64) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  if (/^\d+d$/.test(text)) return Number(text.slice(0, -1)) * 86_400;
  let seconds = 0;
  TERMS.lastIndex = 0;
  let end = 0;
  while (end < text.length) {
    const term = TERMS.exec(text);
    if (!term) return undefined;
    seconds += Number(term[1]) * (UNITS[term[2] ?? ''] ?? 0);
    end = TERMS.lastIndex;
  }
  return end === 0 ? undefined : seconds;
}

/**
 * Writes seconds the way warnings show a TTL: `72h0m0s`, `5m0s`, `30s`, `0s`.
 */
export function formatDuration(seconds: number): string {
  const sign = seconds < 0 ? '-' : '';
  const whole = Math.trunc(Math.abs(seconds));
  const h = Math.trunc(whole / 3600);
  const m = Math.trunc((whole % 3600) / 60);
  const s = whole % 60;
  if (h > 0) return `${sign}${h}h${m}m${s}s`;
  if (m > 0) return `${sign}${m}m${s}s`;
  return `${sign}${s}s`;
}
