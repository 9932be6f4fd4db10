import { noteRead } from '../core/fairness/asking.ts';

/** What is made of rows with more characters takes milliseconds, and is not little to hold. */
const LONG = 64 << 10;

/** Whether rows are long. How long they are is noted of whoever asked for them. */
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
