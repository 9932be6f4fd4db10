/**
 * What a text in HCL or JSON says: a tree of nodes and never an object keyed by what the text says, so
 * no key can reach a prototype; repeated keys are kept, and the reader of the tree says what they mean.
 */
export type HclNode =
  | { kind: 'string'; value: string; at: number }
  | { kind: 'number'; value: number; at: number }
  | { kind: 'bool'; value: boolean; at: number }
  | { kind: 'null'; at: number }
  | { kind: 'list'; items: readonly HclNode[]; at: number }
  | HclObject;

export interface HclObject {
  kind: 'object';
  items: readonly HclItem[];
  at: number;
}

/** `key = value`, or `key "label" { … }`. `at` counts characters from the start of the text. */
export interface HclItem {
  key: string;
  labels: readonly string[];
  value: HclNode;
  at: number;
}

/** Says where a node is, counting lines and columns from 1: `3:14`. */
export function placeOf(text: string, at: number): string {
  let line = 1;
  let start = 0;
  for (let next = text.indexOf('\n'); next >= 0 && next < at; next = text.indexOf('\n', next + 1)) {
    line++;
    start = next + 1;
  }
  return `${line}:${at - start + 1}`;
}
