/** Expressions of JMESPath as trees (https://jmespath.org/specification.html). */

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=';

export type Expression =
  | { kind: 'current' }
  | { kind: 'field'; name: string }
  | { kind: 'literal'; value: unknown }
  | { kind: 'index'; index: number }
  | { kind: 'slice'; start: number | undefined; stop: number | undefined; step: number }
  /** What comes of `left` is what `right` is asked of. */
  | { kind: 'chain'; left: Expression; right: Expression }
  /** `right` of each item of the list, or of each value of the object; `filter`: of those that it holds of. */
  | {
      kind: 'projection';
      of: 'list' | 'object';
      left: Expression;
      right: Expression;
      filter?: Expression;
    }
  | { kind: 'flatten'; left: Expression }
  | { kind: 'comparison'; sign: Comparison; left: Expression; right: Expression }
  | { kind: 'or' | 'and'; left: Expression; right: Expression }
  | { kind: 'not'; of: Expression }
  | { kind: 'list'; items: readonly Expression[] }
  | { kind: 'object'; members: readonly (readonly [name: string, of: Expression])[] }
  | { kind: 'call'; name: string; args: readonly Expression[] }
  /** An expression that a function is given as it is. */
  | { kind: 'reference'; of: Expression };
