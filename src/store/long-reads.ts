import { noteRead } from '../core/fairness/asking.ts';

/** Characters of rows beyond which working on them takes milliseconds, and much memory. */
const LONG = 64 << 10;

/** Whether rows are long; notes how long they are with the party that asked for them. */
export function noteLong(rows: readonly object[]): boolean {
  let length = 0;
  for (const row of rows) {
    for (const value of Object.values(row)) {
      if (typeof value === 'string' || value instanceof Uint8Array) length += value.length;
    }
  }
  if (length <= LONG) return false;
  noteRead(length);
  return true;
}
