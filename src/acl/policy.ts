import { parseDuration } from '../core/durations.ts';
import { Failure } from '../core/failure.ts';
import type { IdentityFacts } from '../core/identity-template.ts';
import { findSelected } from '../core/identity-template.ts';
import { parseTimestamp } from '../core/timestamps.ts';
import { type HclItem, type HclNode, type HclObject, parseHcl, placeOf } from './hcl.ts';
import { fillPattern, type PathPattern, parsePathPattern } from './path-pattern.ts';

export const CAPABILITIES = [
  'create',
  'delete',
  'deny',
  'list',
  'patch',
  'read',
  'recover',
  'scan',
  'subscribe',
  'sudo',
  'update',
] as const;
export type PolicyCapability = (typeof CAPABILITIES)[number];

/** A value that a parameter rule names. Strings may have a `*` at either end. */
export type ParameterValue = string | number | boolean | null | readonly ParameterValue[];

/** Values by lower-case parameter name; an empty list stands for every value. */
export type ParameterRules = ReadonlyMap<string, readonly ParameterValue[]>;

/** One stanza: what is granted or denied beneath a path. */
export interface PathRule {
  pattern: PathPattern;
  capabilities: readonly PolicyCapability[];
  allowed_parameters: ParameterRules;
  denied_parameters: ParameterRules;
  /** Lower case. */
  required_parameters: readonly string[];
  /** Seconds; undefined: no bound. */
  min_wrapping_ttl: number | undefined;
  max_wrapping_ttl: number | undefined;
  /** Largest page that a list request may ask for. */
  pagination_limit: number | undefined;
  /** Unix seconds from when on the stanza says nothing any more. */
  expiration: number | undefined;
  /**
   * A condition of the stanza that this server cannot check. Such a stanza is accepted and grants
   * nothing: leaving out the condition would grant more than its author did.
   */
  unmet: 'mfa_methods' | 'control_group' | undefined;
}

export interface Policy {
  /** Everything is allowed. Never the outcome of reading a text. */
  root: boolean;
  rules: readonly PathRule[];
}

/** What the policy named `root` means. */
export const ROOT_POLICY: Policy = { root: true, rules: [] };

/**
 * Takes off the base64 that a policy may be sent in. A text that is not base64 from end to end is
 * handed back as it is; a policy never is, for it has quotes and braces.
 *
 * @throws Failure `invalid` when what was encoded is not UTF-8
 */
export function decodePolicyText(sent: string): string {
  const compact = sent.replaceAll(/[\r\n]/g, '');
  if (compact === '' || compact.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(compact)) {
    return sent;
  }
  try {
    const bytes = Uint8Array.fromBase64(compact);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    const because = 'failed to parse policy: neither HCL nor JSON, nor base64 of either in UTF-8';
    throw new Failure('invalid', because, { cause });
  }
}

/** {@link decodePolicyText} of a text that may be none: then it stays as it is. */
export function unpackPolicyText(sent: string): string {
  try {
    return decodePolicyText(sent);
  } catch {
    return sent;
  }
}

const ESCAPE =
  /\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([0-3][0-7]{2})|(["\\/]))/g;

/** A text with its escapes read, wherever they stand; to look for words in. */
export function readEscapes(text: string): string {
  return text.replaceAll(ESCAPE, (written: string, ...found: (string | undefined)[]) => {
    const [short, long, byte, octal, plain] = found;
    if (plain !== undefined) return plain;
    const hex = short ?? long ?? byte;
    const code = Number.parseInt(hex ?? octal ?? '', hex === undefined ? 8 : 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : written;
  });
}

/**
 * Reads the text of a policy, HCL or JSON: `path "<pattern>" { capabilities = ["read"] … }`.
 *
 * @throws Failure `invalid`, beginning `failed to parse policy: ` and saying where
 * @see S-61
 */
export function parsePolicy(text: string): Policy {
  try {
    return new PolicyReader(text).readPolicy();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new Failure('invalid', `failed to parse policy: ${error.message}`);
  }
}

/**
 * Resolves the templates of a policy for one caller. A stanza that grants, and whose template has no
 * value, is left out, as is every templated stanza of a caller without an identity. One that takes
 * something away stays with its slots open: that nobody knows where it denies is no permission.
 *
 * @see S-73
 */
export function expandPolicy(policy: Policy, identity: IdentityFacts | undefined): Policy {
  if (!policy.rules.some(({ pattern }) => pattern.selectors.length > 0)) return policy;
  const rules: PathRule[] = [];
  for (const rule of policy.rules) {
    const { selectors } = rule.pattern;
    if (selectors.length === 0) {
      rules.push(rule);
      continue;
    }
    const values = selectors.map((one) => identity && findSelected(identity, one));
    const pattern = fillPattern(rule.pattern, values);
    if (pattern.selectors.length === 0 || takesAway(rule)) rules.push({ ...rule, pattern });
  }
  return { root: policy.root, rules };
}

/** Whether a stanza denies, grants nothing where others may, or grants on a condition. */
export function takesAway(rule: PathRule): boolean {
  const { capabilities, allowed_parameters, denied_parameters, required_parameters } = rule;
  return (
    capabilities.length === 0 ||
    capabilities.includes('deny') ||
    allowed_parameters.size > 0 ||
    denied_parameters.size > 0 ||
    required_parameters.length > 0 ||
    rule.min_wrapping_ttl !== undefined ||
    rule.max_wrapping_ttl !== undefined ||
    rule.pagination_limit !== undefined ||
    rule.unmet !== undefined
  );
}

const STANZA_KEYS = new Set([
  'allowed_parameters',
  'capabilities',
  'comment',
  'control_group',
  'denied_parameters',
  'expiration',
  'max_wrapping_ttl',
  'mfa_methods',
  'min_wrapping_ttl',
  'pagination_limit',
  'policy',
  'required_parameters',
]);

/** What the one-word form of old stands for. */
const SHORTHANDS: ReadonlyMap<string, readonly PolicyCapability[]> = new Map([
  ['deny', ['deny']],
  ['read', ['read', 'list']],
  ['write', ['create', 'read', 'update', 'delete', 'list']],
  ['sudo', ['create', 'read', 'update', 'delete', 'list', 'sudo']],
]);

const NO_PARAMETERS: ParameterRules = new Map();

/** One text being read; kept so that every refusal can say where. */
class PolicyReader {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  readPolicy(): Policy {
    const rules: PathRule[] = [];
    for (const item of parseHcl(this.text).items) {
      if (item.key === 'path') rules.push(...this.readPaths(item));
      else if (item.key !== 'name') throw this.refusal(item.at, `invalid key "${item.key}"`);
      else if (item.value.kind !== 'string' || item.labels.length > 0) {
        throw this.refusal(item.at, '"name" must be a string');
      }
    }
    return { root: false, rules };
  }

  /** `at` is undefined where the message says where already. */
  refusal(at: number, because: string): Failure {
    return new Failure('invalid', `${because} (at ${placeOf(this.text, at)})`);
  }

  /** `path "x" { … }`, or in JSON `"path": { "x": { … } }`, objects there possibly in a list. */
  readPaths(item: HclItem): PathRule[] {
    const [label, ...more] = item.labels;
    if (more.length > 0) throw this.refusal(item.at, '"path" has more than one pattern');
    if (label !== undefined) return [this.readStanza(label, item)];
    const rules: PathRule[] = [];
    for (const object of this.objectsOf(item, '"path"')) {
      for (const stanza of object.items) {
        if (stanza.labels.length > 0) {
          throw this.refusal(stanza.at, '"path" has more than one pattern');
        }
        rules.push(this.readStanza(stanza.key, stanza));
      }
    }
    return rules;
  }

  readStanza(written: string, item: HclItem): PathRule {
    const fail = (at: number, because: string) => this.refusal(at, `path "${written}": ${because}`);
    const fields = new Map<string, HclItem>();
    for (const object of this.objectsOf(item, `path "${written}"`)) {
      for (const field of object.items) {
        if (!STANZA_KEYS.has(field.key)) throw fail(field.at, `invalid key "${field.key}"`);
        if (field.labels.length > 0) {
          throw fail(field.at, `"${field.key}" takes a value, not a named block`);
        }
        // Taking either of two would leave out something that the author wrote down.
        if (fields.has(field.key)) throw fail(field.at, `"${field.key}" is given twice`);
        fields.set(field.key, field);
      }
    }
    const verdict = parsePathPattern(written);
    if (!verdict.ok) throw fail(item.at, verdict.because);
    return new StanzaReader(fields, fail).readRule(verdict.pattern);
  }

  objectsOf(item: HclItem, what: string): readonly HclObject[] {
    const nodes = item.value.kind === 'list' ? item.value.items : [item.value];
    return nodes.map((node) => {
      if (node.kind !== 'object') throw this.refusal(node.at, `${what} must be a block`);
      return node;
    });
  }
}

/** The fields of one stanza. */
class StanzaReader {
  readonly fields: ReadonlyMap<string, HclItem>;
  readonly fail: (at: number, because: string) => Failure;

  constructor(
    fields: ReadonlyMap<string, HclItem>,
    fail: (at: number, because: string) => Failure,
  ) {
    this.fields = fields;
    this.fail = fail;
  }

  readRule(pattern: PathPattern): PathRule {
    this.readComment();
    const min_wrapping_ttl = this.readTtl('min_wrapping_ttl');
    const max_wrapping_ttl = this.readTtl('max_wrapping_ttl');
    if ((min_wrapping_ttl ?? 0) > (max_wrapping_ttl ?? Number.POSITIVE_INFINITY)) {
      const at = this.fields.get('min_wrapping_ttl')?.at ?? 0;
      throw this.fail(at, '"max_wrapping_ttl" cannot be less than "min_wrapping_ttl"');
    }
    return {
      pattern,
      capabilities: this.readCapabilities(),
      allowed_parameters: this.readParameters('allowed_parameters'),
      denied_parameters: this.readParameters('denied_parameters'),
      required_parameters: this.readRequired(),
      min_wrapping_ttl,
      max_wrapping_ttl,
      pagination_limit: this.readPaginationLimit(),
      expiration: this.readExpiration(),
      unmet: this.readUnmet(),
    };
  }

  readComment(): void {
    const item = this.fields.get('comment');
    if (item && item.value.kind !== 'string')
      throw this.fail(item.at, '"comment" must be a string');
  }

  readCapabilities(): PolicyCapability[] {
    const item = this.fields.get('capabilities');
    const old = this.fields.get('policy');
    if (old) {
      if (item) throw this.fail(old.at, '"policy" and "capabilities" exclude each other');
      const meant = old.value.kind === 'string' ? SHORTHANDS.get(old.value.value) : undefined;
      if (!meant) throw this.fail(old.at, 'invalid policy: it is read, write, sudo or deny');
      return [...meant];
    }
    const granted = new Set<PolicyCapability>();
    for (const node of this.listOf(item)) {
      const known = CAPABILITIES.find((name) => node.kind === 'string' && name === node.value);
      if (!known) {
        const named = node.kind === 'string' ? ` "${node.value}"` : '';
        throw this.fail(node.at, `invalid capability${named}`);
      }
      granted.add(known);
    }
    return [...granted];
  }

  readRequired(): string[] {
    return this.listOf(this.fields.get('required_parameters')).map((node) => {
      if (node.kind !== 'string') {
        throw this.fail(node.at, '"required_parameters" must be a list of strings');
      }
      return node.value.toLowerCase();
    });
  }

  readParameters(key: 'allowed_parameters' | 'denied_parameters'): ParameterRules {
    const item = this.fields.get(key);
    if (!item) return NO_PARAMETERS;
    const nodes = item.value.kind === 'list' ? item.value.items : [item.value];
    const rules = new Map<string, readonly ParameterValue[]>();
    for (const node of nodes) {
      if (node.kind !== 'object') throw this.fail(node.at, `"${key}" must be a map of lists`);
      for (const parameter of node.items) {
        const name = parameter.key.toLowerCase();
        if (parameter.labels.length > 0 || parameter.value.kind !== 'list') {
          throw this.fail(parameter.at, `"${key}": "${parameter.key}" must be a list of values`);
        }
        if (rules.has(name)) throw this.fail(parameter.at, `"${key}": "${name}" is given twice`);
        rules.set(
          name,
          parameter.value.items.map((value) => this.parameterValue(key, value)),
        );
      }
    }
    return rules;
  }

  parameterValue(key: string, node: HclNode): ParameterValue {
    switch (node.kind) {
      case 'string':
      case 'number':
      case 'bool':
        return node.value;
      case 'null':
        return null;
      case 'list':
        return node.items.map((item) => this.parameterValue(key, item));
      case 'object':
        throw this.fail(node.at, `"${key}": a value is a string, number, bool or list of those`);
    }
  }

  readTtl(key: 'min_wrapping_ttl' | 'max_wrapping_ttl'): number | undefined {
    const item = this.fields.get(key);
    if (!item) return undefined;
    const { value } = item;
    const seconds =
      value.kind === 'number'
        ? value.value
        : value.kind === 'string'
          ? parseDuration(value.value)
          : undefined;
    if (seconds === undefined || seconds < 0) {
      throw this.fail(item.at, `"${key}" must be a duration of zero or more, such as 60 or "1h"`);
    }
    return seconds === 0 ? undefined : seconds;
  }

  readPaginationLimit(): number | undefined {
    const item = this.fields.get('pagination_limit');
    if (!item) return undefined;
    const { value } = item;
    if (value.kind !== 'number' || !Number.isSafeInteger(value.value) || value.value < 0) {
      throw this.fail(item.at, '"pagination_limit" must be a whole number of zero or more');
    }
    return value.value === 0 ? undefined : value.value;
  }

  readExpiration(): number | undefined {
    const item = this.fields.get('expiration');
    if (!item) return undefined;
    const at = item.value.kind === 'string' ? parseTimestamp(item.value.value) : undefined;
    if (at === undefined) {
      throw this.fail(item.at, '"expiration" must be a time such as "2030-01-31T12:00:00Z"');
    }
    return at;
  }

  readUnmet(): PathRule['unmet'] {
    const control = this.fields.get('control_group');
    if (control && !isEmpty(control.value)) return 'control_group';
    const mfa = this.fields.get('mfa_methods');
    return mfa && !isEmpty(mfa.value) ? 'mfa_methods' : undefined;
  }

  listOf(item: HclItem | undefined): readonly HclNode[] {
    if (!item) return [];
    if (item.value.kind !== 'list') throw this.fail(item.at, `"${item.key}" must be a list`);
    return item.value.items;
  }
}

function isEmpty(node: HclNode): boolean {
  return (
    node.kind === 'null' ||
    ((node.kind === 'list' || node.kind === 'object') && node.items.length === 0)
  );
}
