import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { Failure } from '../../core/failure.ts';
import type { Kind, ResourceHandler } from './handler.ts';
import { checkCreation, checkUpdate } from './item-request.ts';
import type { BoundaryRequest, Fields } from './route.ts';

const attributes = {
  tcp: z.object({ port: z.number().optional() }),
  ssh: z.object({ port: z.number().optional(), key: z.string().optional() }),
};

interface ExampleKind extends Kind {
  attributes: typeof attributes;
  wanted: number;
  change: number;
}

const example: ResourceHandler<ExampleKind> = {
  type: 'target',
  containerField: 'scope_id',
  fields: {},
  attributes,
  shown: {},
  chooseSubtype({ type }, _parent, errors) {
    if (type === 'tcp' || type === 'ssh') return type;
    errors.add('type', 'unknown');
    return '';
  },
  checkNew({ attributes: { port = 1 } = {} }, _subtype, errors) {
    if (port === 0) errors.add('attributes.port', 'zero');
    return port;
  },
  planNew: async () => ({}),
  updatable: () => [],
  checkChange: ({ attributes: { port = 1 } = {} }) => port,
  planChange: async () => ({}),
  describe: async (_app, _caller, rows) => rows.map(() => ({})),
};

const asked = (item: object): BoundaryRequest => ({
  id: 'ttcp_1',
  item: { scope_id: 'p_1', ...item },
  mask: [],
  query: new URLSearchParams(),
});

function faultsOf(check: () => unknown): Fields {
  try {
    check();
    return {};
  } catch (error) {
    assert.ok(error instanceof Failure);
    return error.detail.fields ?? {};
  }
}

const UNFIT = 'Attribute fields do not match the expected format.';
const cases: [item: object, faults: Fields, why: string][] = [
  [{ type: 'ssh', attributes: { key: 'k' } }, {}, 'a field of its type'],
  [{ type: 'tcp', attributes: { key: null } }, { attributes: UNFIT }, 'one of another type'],
  [{ type: 'tcp', attributes: { port: '1' } }, { attributes: UNFIT }, 'a text for a number'],
  [{ type: 'tcp', attributes: { port: null } }, {}, 'null is none'],
  [
    { type: 'x', attributes: { port: 0 } },
    { type: 'unknown', 'attributes.port': 'zero' },
    'of an unknown type what is wrong with the rest is told as well',
  ],
  [
    { type: 'x', attributes: { port: { a: 1 }, other: 1 } },
    { type: 'unknown' },
    'as far as it can be read',
  ],
];

for (const [item, faults, why] of cases) {
  test(`attributes of a new item: ${why}`, () => {
    const found = faultsOf(() => checkCreation(example, asked(item)));
    assert.deepEqual(found, faults);
  });
}

test('what the checks have found is handed on', () => {
  const item = { type: 'tcp', attributes: { port: 22 } };
  const made = checkCreation(example, asked(item));
  assert.deepEqual([made.subtype, made.wanted], ['tcp', 22]);
  const changed = checkUpdate(example, asked({ version: 1, attributes: { port: 23 } }));
  assert.equal(changed.change, 23);
});
