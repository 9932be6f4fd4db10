/** A strict reader of asciicast v2, after the published format. */

import assert from 'node:assert/strict';

export interface Cast {
  header: {
    version: number;
    width: number;
    height: number;
    timestamp: number;
    env: Record<string, string>;
    command?: string;
  };
  events: [time: number, code: string, data: string][];
}

/** @throws AssertionError for what the format has not */
export function readCast(text: string): Cast {
  assert.ok(text.endsWith('\n'), 'the last line is whole');
  const [first = '', ...lines] = text.slice(0, -1).split('\n');
  const header = JSON.parse(first);
  assert.equal(header.version, 2);
  for (const name of ['width', 'height', 'timestamp']) {
    assert.ok(Number.isInteger(header[name]) && header[name] > 0, name);
  }
  for (const value of Object.values(header.env)) assert.equal(typeof value, 'string');
  let last = 0;
  const events = lines.map((line): Cast['events'][number] => {
    const event = JSON.parse(line);
    assert.ok(Array.isArray(event) && event.length === 3, line);
    const [time, code, data] = event;
    assert.ok(typeof time === 'number' && time >= last, `${line} comes after ${last}`);
    last = time;
    assert.match(code, /^[a-z]$/);
    assert.equal(typeof data, 'string');
    if (code === 'r') assert.match(data, /^[1-9]\d*x[1-9]\d*$/);
    return [time, code, data];
  });
  return { header, events };
}

/** What a terminal was sent. */
export const outputOf = ({ events }: Cast): string =>
  events
    .filter(([, code]) => code === 'o')
    .map(([, , data]) => data)
    .join('');
