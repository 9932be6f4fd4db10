import type { ParameterRules, ParameterValue } from './policy.ts';

/** The three conditions on parameters of a rule; names in lower case. */
export interface ParameterConditions {
  allowed_parameters: ParameterRules;
  denied_parameters: ParameterRules;
  required_parameters: readonly string[];
}

/**
 * Says why a request's parameters are refused, or undefined if they are not (contract 5.4). The
 * reason names parameters and never has a value in it.
 *
 * @param parameters as sent; names are compared without regard to case
 */
export function judgeParameters(
  rule: ParameterConditions,
  parameters: Readonly<Record<string, unknown>>,
): string | undefined {
  const { allowed_parameters, denied_parameters, required_parameters } = rule;
  const free = allowed_parameters.size === 0 && denied_parameters.size === 0;
  if (free && required_parameters.length === 0) return undefined;
  const sent = Object.keys(parameters).map((name) => ({
    name: name.toLowerCase(),
    value: parameters[name],
  }));

  const missing = required_parameters.find((wanted) => !sent.some(({ name }) => name === wanted));
  if (missing !== undefined) return `parameter "${missing}" is required`;

  if (denied_parameters.has('*') && sent.length > 0) return 'no parameter is allowed';
  for (const { name, value } of sent) {
    const denied = denied_parameters.get(name);
    if (denied && (denied.length === 0 || denied.some((each) => isDenied(name, each, value)))) {
      return `parameter "${name}" is denied`;
    }
  }

  if (allowed_parameters.size === 0) return undefined;
  const others = allowed_parameters.has('*');
  for (const { name, value } of sent) {
    const allowed = allowed_parameters.get(name);
    if (!allowed && !others) return `parameter "${name}" is not allowed`;
    if (allowed && allowed.length > 0 && !isAllowed(allowed, value)) {
      return `parameter "${name}" is not allowed with this value`;
    }
  }
  return undefined;
}

/** Unites what several stanzas say about parameters; a name with any value stays with any value. */
export function mergeParameters(a: ParameterRules, b: ParameterRules): ParameterRules {
  if (b.size === 0) return a;
  const merged = new Map(a);
  for (const [name, values] of b) {
    const known = merged.get(name);
    const any = values.length === 0 || known?.length === 0;
    merged.set(name, any ? [] : [...(known ?? []), ...values]);
  }
  return merged;
}

/**
 * Whether a value sent is among those named. A text may be read as a list later, `a,b` or
 * `["a","b"]`, so a pattern lets such a text pass only where some pattern fits each item of it:
 * `*.example.com` must not let in `evil.test,www.example.com`.
 */
function isAllowed(allowed: readonly ParameterValue[], sent: unknown): boolean {
  const named = allowed.filter((each) => isValue(each, sent));
  const items = listItems(sent);
  if (items === undefined || named.some((each) => each === sent || each === '*')) {
    return named.length > 0;
  }
  return (
    items.length <= MAX_ITEMS && items.every((item) => allowed.some((each) => isValue(each, item)))
  );
}

/** The items of a text that can be read as a list; undefined for any other value. */
function listItems(sent: unknown): readonly unknown[] | undefined {
  if (typeof sent !== 'string') return undefined;
  const text = sent.trim();
  if (text.startsWith('[') && text.endsWith(']')) {
    const parsed = parseList(text);
    if (parsed) return parsed.map(trimmed);
  }
  return text.includes(',') ? text.split(',', MAX_ITEMS + 1).map(trimmed) : undefined;
}

/** No field takes a list of more items, and looking at each takes time: a text of more never passes. */
const MAX_ITEMS = 10_000;

function parseList(text: string): unknown[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const trimmed = (value: unknown): unknown => (typeof value === 'string' ? value.trim() : value);

/** Whether a value sent is the one a rule names; a list is compared whole, element by element. */
function isValue(named: ParameterValue, sent: unknown): boolean {
  if (typeof named === 'string') return typeof sent === 'string' && matchesGlob(named, sent);
  return isSame(named, sent);
}

/**
 * Also true if an element of a list sent is what the rule names, or an item of a text that can be
 * read as one: otherwise a denied value would be let in by a bracket, a comma or a blank beside it.
 */
function isOrHolds(named: ParameterValue, sent: unknown): boolean {
  const items = Array.isArray(sent) ? sent : (listItems(sent) ?? []);
  if (items.length > MAX_ITEMS) return true;
  return [sent, trimmed(sent), ...items, ...items.map(trimmed)].some((each) =>
    isValue(named, each),
  );
}

/** Parameters that name policies, which are read in lower case: `Admin` is the policy `admin`. */
const POLICY_NAMES: ReadonlySet<string> = new Set(['policies', 'token_policies']);

function isDenied(parameter: string, named: ParameterValue, sent: unknown): boolean {
  return POLICY_NAMES.has(parameter) && typeof named === 'string'
    ? isOrHolds(named.toLowerCase(), inLowerCase(sent))
    : isOrHolds(named, sent);
}

function inLowerCase(value: unknown): unknown {
  if (typeof value === 'string') return value.toLowerCase();
  return Array.isArray(value) ? value.map(inLowerCase) : value;
}

function isSame(named: ParameterValue, sent: unknown): boolean {
  if (!isList(named)) return named === sent;
  return (
    Array.isArray(sent) &&
    sent.length === named.length &&
    named.every((item, place) => isSame(item, sent[place]))
  );
}

function isList(value: ParameterValue): value is readonly ParameterValue[] {
  return Array.isArray(value);
}

/** A `*` at either end of the pattern stands for anything; elsewhere it stands for itself. */
function matchesGlob(pattern: string, text: string): boolean {
  if (pattern === '*') return true;
  const open = pattern.startsWith('*');
  const closed = pattern.endsWith('*');
  if (open && closed) return text.includes(pattern.slice(1, -1));
  if (open) return text.endsWith(pattern.slice(1));
  if (closed) return text.startsWith(pattern.slice(0, -1));
  return pattern === text;
}
