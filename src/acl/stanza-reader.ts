import { parseDuration } from '../core/durations.ts';
import type { Failure } from '../core/failure.ts';
import { parseTimestamp } from '../core/timestamps.ts';
import type { HclItem, HclNode } from './hcl-tree.ts';
import type { PathPattern } from './path-pattern.ts';
import {
  CAPABILITIES,
  NO_PARAMETERS,
  type ParameterRules,
  type ParameterValue,
  type PathRule,
  type PolicyCapability,
} from './policy.ts';

/** What the one-word form of old stands for. */
const SHORTHANDS: ReadonlyMap<string, readonly PolicyCapability[]> = new Map([
  ['deny', ['deny']],
  ['read', ['read', 'list']],
  ['write', ['create', 'read', 'update', 'delete', 'list']],
  ['sudo', ['create', 'read', 'update', 'delete', 'list', 'sudo']],
]);

/** The fields of one stanza. */
export class StanzaReader {
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
