import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deriveMask } from './mask.ts';

const rows: [body: Record<string, unknown>, mask: string[], why: string][] = [
  [{}, [], 'nothing'],
  [{ name: 'x' }, ['name'], 'a value'],
  [{ name: null }, ['name'], 'null speaks of the field as well'],
  [{ attributes: { default_port: 22 } }, ['attributes.default_port'], 'members of an object'],
  [{ attributes: { default_port: null } }, ['attributes.default_port'], 'those that are null'],
  [{ attributes: {} }, ['attributes'], 'an empty object is its own path'],
  [{ a: { b: { c: 1, d: {} } } }, ['a.b.c', 'a.b.d'], 'objects in objects'],
  [{ ids: [{ id: 'x' }] }, ['ids'], 'a list is one value'],
  [{ ids: [] }, ['ids'], 'also an empty one'],
  [{ name: 'x', version: 1 }, ['name', 'version'], 'in the order of the body'],
];

for (const [body, mask, why] of rows) {
  test(`the mask of ${JSON.stringify(body)}: ${why}`, () => {
    assert.deepEqual(deriveMask(body), mask);
  });
}

test('a map that is one value is not looked into', () => {
  const body = { api_tags: { region: ['eu'] }, attributes: { x: 1 } };
  assert.deepEqual(deriveMask(body, [], ['api_tags']), ['api_tags', 'attributes.x']);
});

test('the path of a field is no longer than that of any field there is', () => {
  const longest = 'k'.repeat(512 - '.a'.length);
  assert.deepEqual(deriveMask({ [longest]: { a: 1 } }), [`${longest}.a`]);
  assert.throws(() => deriveMask({ [`${longest}k`]: { a: 1 } }), /Error in provided request/);
});

test('the mask of the query takes the place of the body, several paths in one text', () => {
  const given = ['name, description', 'type', ' ', ','];
  assert.deepEqual(deriveMask({ address: 'x' }, given), ['name', 'description', 'type']);
});
