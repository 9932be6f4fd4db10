import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExpression } from './expression.ts';
import { FilterMeter } from './meter.ts';

function meterOf(filter: string): FilterMeter {
  const parsed = parseExpression(filter);
  assert.ok(parsed.valid);
  return new FilterMeter(parsed.expression);
}

const item = { name: 'web-7', description: 'd'.repeat(1000), ports: [22, 80, 443] };

/** Items that are judged before the budget is used up, and turns that others get meanwhile. */
function judgeAll(filter: string, items: number): { judged: number; turns: number } {
  const meter = meterOf(filter);
  let turns = 0;
  for (let judged = 0; judged < items; judged++) {
    const verdict = meter.judge({ item });
    if ('fault' in verdict && verdict.fault === 'exhausted') return { judged, turns };
    if (meter.takeTurn()) turns++;
  }
  return { judged: items, turns };
}

test('a filter such as people write judges however many items', () => {
  for (const filter of [
    'item.name == "web" or item.name contains "prod"',
    'item.name matches "^web-[0-9]+$" and any item.ports as port { port == 443 }',
  ]) {
    assert.equal(judgeAll(filter, 20_000).judged, 20_000);
  }
});

test('one that costs much with every item comes to its end', () => {
  const filter = 'item.description matches "(?:a?b?c?){20}$"';
  const { judged, turns } = judgeAll(filter, 20_000);
  assert.ok(judged > 10 && judged < 1_000, String(judged));
  // Three of them take about as long as others are to wait.
  assert.ok(turns >= judged / 4, String(turns));
});

test('others get a turn after much work only, and one for each', () => {
  assert.equal(judgeAll('item.name == "web"', 100).turns, 0);
  const meter = meterOf('item.description matches "(?:a?b?c?){70}$"');
  for (let round = 0; round < 3; round++) {
    while (!meter.takeTurn()) meter.judge({ item });
    assert.equal(meter.takeTurn(), false);
  }
});
