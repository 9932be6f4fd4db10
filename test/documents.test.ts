import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import {
  DOCUMENT,
  judgeAnswer,
  listOperations,
  operationOf,
  watchAnswer,
} from './support/declared-answers.ts';
import { judgeValue, type Schema } from './support/schema-judge.ts';

/** The OpenAPI document is valid and whole, and what holds answers against it sees what is not as declared. */

const { components, paths } = DOCUMENT;
const OPERATIONS = listOperations();

test('a public validator finds nothing in docs/api/openapi.json', async () => {
  const document: unknown = JSON.parse(readFileSync('docs/api/openapi.json', 'utf8'));
  assert.deepEqual(await new Validator().validate(document as Record<string, unknown>), {
    valid: true,
  });
  const broken = structuredClone(document) as { paths: Record<string, object> };
  broken.paths['/nowhere'] = { get: { operationId: 'nothing' } };
  assert.equal(
    (await new Validator().validate(broken)).valid,
    false,
    'an operation without responses',
  );
});

test('no two paths are the same but for the names of their parameters, which are all declared', () => {
  // Mounts of two engines are never one: whoever fills the name in knows which it is, as in Vault's own document.
  const forms = Object.keys(paths).map((path) =>
    path.replaceAll(/\{(?!\w+_mount_path\})[^}]*\}/g, '{}'),
  );
  assert.equal(new Set(forms).size, forms.length);
  for (const [path, item] of Object.entries(paths)) {
    const named = [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name);
    const declared = (item.parameters ?? []).filter((one) => one.in === 'path');
    assert.deepEqual(
      declared.map(({ name }) => name),
      named,
      path,
    );
  }
});

test('no two operations have one id', () => {
  const ids = OPERATIONS.map(({ operationId }) => operationId);
  assert.equal(new Set(ids).size, ids.length);
});

test('every operation tells what it answers with, and in which form it refuses', () => {
  const untold: string[] = [];
  for (const { operationId, responses } of OPERATIONS) {
    assert.ok(responses.default, operationId);
    const statuses = Object.keys(responses).filter((status) => Number(status) < 300);
    // What this server has not is refused whatever is sent.
    const told = statuses.length > 0 || Object.keys(responses).includes('405');
    const isBlank = statuses.some((status) => {
      const { content } = components.responses[nameIn(responses[status])] ?? {};
      return status === '200' && content === undefined;
    });
    if (!told || isBlank) untold.push(operationId);
  }
  assert.deepEqual(untold, []);
});

test('what a list of the broker is of has to be told, but where there is a default', () => {
  const placesOf = (path: string): unknown[] =>
    (paths[path]?.get?.parameters ?? []).flatMap(({ name, required = false }) =>
      name.endsWith('_id') ? [[name, required]] : [],
    );
  assert.deepEqual(placesOf('/targets'), [['scope_id', true]]);
  assert.deepEqual(placesOf('/hosts'), [['host_catalog_id', true]]);
  assert.deepEqual(placesOf('/scopes'), [['scope_id', false]]);
});

test('what has not changed is answered without a body', () => {
  const { responses } = operationOf('pki-read-crl-der');
  assert.equal(components.responses[nameIn(responses[304])]?.content, undefined);
  assert.ok(responses[304] && !operationOf('pki-read-issuer').responses[304]);
});

test('nothing that is answered may be anything, unless its description says so', () => {
  const free = Object.entries(components.schemas)
    .filter(([name]) => !name.endsWith('Request'))
    .flatMap(([name, schema]) => listFree(schema, name));
  assert.deepEqual(free, []);
});

/** Schemas that say nothing of their value; `what` is described where one stands for keys that are data. */
function listFree(schema: Schema, at: string): string[] {
  const { properties = {}, additionalProperties, items } = schema;
  const isSilent = !Object.keys(schema).some((key) => TELLING.has(key));
  const more = typeof additionalProperties === 'object' ? additionalProperties : undefined;
  const isFree = more !== undefined && Object.keys(more).length === 0;
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [
    ...(isSilent || (isFree && schema.description === undefined) ? [at] : []),
    ...(more && !isFree ? listFree(more, `${at}.*`) : []),
    ...(items ? listFree(items, `${at}[]`) : []),
    ...Object.entries(properties).flatMap(([name, child]) => listFree(child, `${at}.${name}`)),
    ...choices.flatMap((choice) => listFree(choice, at)),
  ];
}

const TELLING: ReadonlySet<string> = new Set([
  ...['$ref', 'type', 'enum', 'anyOf', 'oneOf', 'allOf', 'not'],
]);

const nameIn = ({ $ref = '' }: { $ref?: string } = {}): string =>
  $ref.slice($ref.lastIndexOf('/') + 1);

const thing: Schema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    ttl: { type: 'integer', minimum: 0 },
    kind: { type: 'string', enum: ['a', 'b'] },
    note: { type: 'string', nullable: true },
    tags: { type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } },
    free: { type: 'object', additionalProperties: {} },
    either: { anyOf: [{ type: 'string' }, { type: 'object', properties: {} }] },
  },
  required: ['id'],
};
const SCHEMAS = {
  Thing: thing,
  More: { type: 'object', properties: { more: { type: 'string' } } },
};
const reference: Schema = { $ref: '#/components/schemas/Thing' };
const both: Schema = { allOf: [reference, { $ref: '#/components/schemas/More' }] };

const VALUES: [value: unknown, faults: string[], schema?: Schema][] = [
  [{ id: 'x' }, []],
  [{ id: 'x', ttl: 1, kind: 'a', note: null, tags: { k: ['v'] }, free: { any: [1] } }, []],
  [{}, ['id: missing']],
  [{ id: 1 }, ['id: integer, no string']],
  [{ id: null }, ['id: null, no string']],
  [{ id: 'x', other: 1 }, ['other: not declared']],
  [{ id: 'x', ttl: 1.5 }, ['ttl: number, no integer']],
  [{ id: 'x', ttl: -1 }, ['ttl: -1 is out of bounds']],
  [{ id: 'x', kind: 'c' }, ['kind: "c" is no choice']],
  [{ id: 'x', tags: { k: ['v', 2] } }, ['tags.k[1]: integer, no string']],
  [{ id: 'x', tags: { k: 'v' } }, ['tags.k: string, no array']],
  [{ id: 'x', either: 'text' }, []],
  [{ id: 'x', either: {} }, []],
  [{ id: 'x', either: 5 }, ['either: integer, no string']],
  [{ id: 'x', either: { in: 1 } }, ['either.in: not declared']],
  [[], ['the answer: array, no object']],
  [{ id: 'x', more: 'y' }, ['more: not declared']],
  [{ id: 'x', more: 'y' }, [], both],
  [{ id: 'x', most: 'y' }, ['most: not declared'], both],
  [{ more: 1 }, ['id: missing', 'more: integer, no string'], both],
];
for (const [value, faults, schema = reference] of VALUES) {
  test(`${JSON.stringify(value)}: ${faults.join(', ') || 'as declared'}`, () => {
    assert.deepEqual(judgeValue(SCHEMAS, schema, value), faults);
  });
}

const JSON_TYPE = { 'content-type': 'application/json' };
const envelope = {
  request_id: 'r',
  lease_id: '',
  renewable: false,
  lease_duration: 0,
  wrap_info: null,
  warnings: null,
  auth: null,
  mount_type: 'pki',
};
const configuration = { default: '', default_follows_latest_issuer: false };
const READ = 'pki-read-issuers-configuration';

const ANSWERS: [what: string, status: number, body: object | string, faults: RegExp | undefined][] =
  [
    ['as declared', 200, { ...envelope, data: configuration }, undefined],
    [
      'a field more',
      200,
      { ...envelope, data: { ...configuration, x: 1 } },
      /^data\.x: not declared/,
    ],
    ['a field less', 200, { ...envelope, data: { default: '' } }, /^data\.default_f.*: missing/],
    ['a field beside data', 200, { ...envelope, data: configuration, x: 1 }, /^x: not declared/],
    ['no body', 200, '', /^no body/],
    ['a status of others', 201, { ...envelope, data: configuration }, /^a status that is not/],
    ['a refusal', 403, { errors: ['no'] }, undefined],
    ['a refusal of another form', 403, { error: 'no' }, /^errors: missing/],
    ['what anybody may hear', 503, { errors: ['sealed'] }, undefined],
    ['what is not there', 404, { errors: [] }, /^a status that is not declared/],
    [
      'no such mount',
      404,
      { errors: ['no handler for route "x/y". route entry not found.'] },
      undefined,
    ],
  ];
for (const [what, status, body, faults] of ANSWERS) {
  test(`an answer that has ${what}`, () => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const [first = '', ...others] = judgeAnswer(operationOf(READ), {
      status,
      headers: JSON_TYPE,
      body: text,
    });
    if (faults) assert.match(first, faults);
    else assert.deepEqual([first, ...others], ['']);
  });
}

test('an answer that is made while it is sent is looked at as it ends', async () => {
  const faults: string[] = [];
  const body = {
    length: undefined,
    async *pieces() {
      yield Buffer.from('{"errors":');
      yield Buffer.from('"none"}');
    },
  };
  const answer = { status: 400, headers: { ...JSON_TYPE }, body };
  const watched = watchAnswer({ id: READ }, answer, (fault) => faults.push(fault));
  assert.ok(watched.body && typeof watched.body === 'object' && 'pieces' in watched.body);
  assert.deepEqual(faults, []);
  for await (const _ of watched.body.pieces());
  assert.deepEqual(faults, [`${READ} 400: errors: string, no array`]);
});
