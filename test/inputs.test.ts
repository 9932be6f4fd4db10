import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkOf } from '../src/app/input.ts';
import type { AnyRoute } from '../src/app/route.ts';
import { authEngines, secretEngines, systemRoutes } from '../src/start/routes.ts';

// An input is read field by field, and comes to the same as its whole schema makes of it.

const routes: AnyRoute[] = [
  ...systemRoutes,
  ...Object.values(secretEngines).flat(),
  ...Object.values(authEngines).flat(),
];

const VALUES: readonly unknown[] = [
  undefined,
  null,
  '',
  'x',
  'a,b',
  '1h',
  '2030-01-31T12:00:00Z',
  'true',
  true,
  0,
  7,
  -1,
  1.5,
  [],
  ['x', 'y'],
  [1],
  {},
  { a: 'b' },
  [[]],
];

type Outcome = { read: Record<string, unknown> } | { refused: string };

function outcomeOf(read: () => Record<string, unknown>): Outcome {
  try {
    const fields = Object.entries(read()).filter(([, value]) => value !== undefined);
    return { read: Object.fromEntries(fields) };
  } catch (error) {
    return { refused: error instanceof Error ? error.message : String(error) };
  }
}

/** Of each field each value, alone and beside what the others take. */
function* inputsOf({ input }: AnyRoute): Generator<Record<string, unknown>> {
  const names = Object.keys(input.shape);
  const usual = Object.fromEntries(
    Object.entries(input.shape).map(([name, field]) => [
      name,
      VALUES.findLast((value) => field.safeParse(value).success),
    ]),
  );
  yield {};
  yield usual;
  yield { ...usual, unknown_field: 'x' };
  for (const name of names) {
    for (const value of VALUES) {
      yield { [name]: value };
      yield { ...usual, [name]: value };
    }
  }
}

test('what is read field by field is what the schema says, at every endpoint', () => {
  let [read, refused] = [0, 0];
  for (const route of routes) {
    const check = checkOf(route.input);
    for (const input of inputsOf(route)) {
      const expected = outcomeOf(() => route.input.parse(input));
      assert.deepEqual(
        outcomeOf(() => check(input)),
        expected,
        `${route.method} ${route.path} ${JSON.stringify(input)}`,
      );
      if ('read' in expected) read += 1;
      else refused += 1;
    }
  }
  assert.ok(read > 10_000 && refused > 10_000, `${read} read, ${refused} refused`);
});

test('what stands for a field that was not sent is nobody else’s', () => {
  for (const route of routes) {
    const check = checkOf(route.input);
    const required = Object.fromEntries(
      Object.entries(route.input.shape)
        .filter(([, field]) => !field.safeParse(undefined).success)
        .map(([name]) => [name, 'x']),
    );
    const first = outcomeOf(() => check(required));
    if (!('read' in first)) continue;
    const before = structuredClone(first.read);
    for (const value of Object.values(first.read)) {
      if (Array.isArray(value)) value.push('changed');
      else if (typeof value === 'object' && value) Object.assign(value, { changed: true });
    }
    assert.deepEqual(
      outcomeOf(() => check(required)),
      { read: before },
      route.path,
    );
  }
});
