import { Failure, invalid } from '../core/failure.ts';
import { parseHcl } from './hcl.ts';
import { type HclItem, type HclObject, placeOf } from './hcl-tree.ts';
import { parsePathPattern } from './path-pattern.ts';
import type { PathRule, Policy } from './policy.ts';
import { StanzaReader } from './stanza-reader.ts';

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
    throw invalid(`failed to parse policy: ${error.message}`);
  }
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
    return invalid(`${because} (at ${placeOf(this.text, at)})`);
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
