import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { type AnyRoute, type Method, vaultRoute } from '../app/route.ts';
import { duration, flag, list, optional, text } from '../core/fields.ts';
import { outputOnly } from '../core/output-only.ts';
import type { ApiStyle, DocumentedApi } from './documented-api.ts';
import { buildOpenApi } from './openapi.ts';
import { writeReference } from './reference.ts';
import { VAULT_STYLE } from './vault/documented.ts';

function route(method: Method, path: `/v1/${string}`, more: Partial<AnyRoute> = {}): AnyRoute {
  return {
    ...vaultRoute({
      id: `${method.toLowerCase()}-thing`,
      method,
      path,
      summary: 'Do the thing',
      access: { capability: 'read' },
      input: z.object({
        name: text().describe('Which one.'),
        ttl: duration(30).describe('How long.'),
        domains: optional(list()).describe('Where | whose.'),
        strict: flag(false),
      }),
      output: z.object({ serial_number: z.string() }),
      failures: ['invalid'],
      run: async () => ({ data: { serial_number: '01' } }),
    }),
    ...more,
  };
}

const api = (routes: AnyRoute[], more: Partial<DocumentedApi> = {}): DocumentedApi => ({
  tag: 'secrets',
  style: VAULT_STYLE,
  prefix: '/v1/{mount}',
  at: '/ca',
  routes,
  ...more,
});

function at(value: unknown, ...keys: (string | number)[]): unknown {
  return keys.reduce<unknown>(
    (found, key) =>
      typeof found === 'object' && found !== null ? Reflect.get(found, key) : undefined,
    value,
  );
}

test('a field of the path is a parameter, the others travel in the body of a write', () => {
  const document = buildOpenApi([api([route('POST', '/v1/{mount}/things/{name}')])], '1.0.0');
  const item = at(document, 'paths', '/ca/things/{name}');
  assert.deepEqual(at(item, 'parameters'), [
    {
      name: 'name',
      in: 'path',
      required: true,
      description: 'Which one.',
      schema: { type: 'string' },
    },
  ]);
  assert.equal(at(item, 'post', 'operationId'), 'post-thing');
  const request = at(document, 'components', 'schemas', 'PostThingRequest');
  assert.deepEqual(at(request, 'properties', 'ttl'), {
    type: 'integer',
    minimum: 0,
    default: 30,
    description: 'How long.',
  });
  assert.equal(at(request, 'properties', 'name'), undefined);
  assert.equal(at(request, 'required'), undefined);
});

test('what answers alone have is no part of what a request takes, in the document and in pages', () => {
  const input = z.object({
    sent: text(),
    shown: outputOnly(),
    inner: z.object({ of: outputOnly() }),
  });
  const routes = [route('POST', '/v1/{mount}/things', { input })];
  const request = at(
    buildOpenApi([api(routes)], '1.0.0'),
    'components',
    'schemas',
    'PostThingRequest',
  );
  assert.deepEqual(Object.keys(at(request, 'properties') as object), ['sent', 'inner']);
  assert.deepEqual(at(request, 'properties', 'inner', 'properties'), {});
  const page = writeReference({ title: 'Things', intro: '', style: VAULT_STYLE, routes });
  assert.ok(page.includes('| `sent` |') && !page.includes('| `shown` |'));
});

test('the fields of a read are query parameters', () => {
  const document = buildOpenApi([api([route('GET', '/v1/{mount}/things/{name}')])], '1.0.0');
  const parameters = at(document, 'paths', '/ca/things/{name}', 'get', 'parameters');
  assert.ok(Array.isArray(parameters));
  assert.deepEqual(
    parameters.map((one) => [at(one, 'name'), at(one, 'in')]),
    [
      ['ttl', 'query'],
      ['domains', 'query'],
      ['strict', 'query'],
    ],
  );
  assert.equal(at(document, 'paths', '/ca/things/{name}', 'get', 'requestBody'), undefined);
});

test('a list stands beside a read of the same path, with its slash and its parameter', () => {
  const routes = [route('GET', '/v1/{mount}/things'), route('LIST', '/v1/{mount}/things')];
  const document = buildOpenApi([api(routes)], '1.0.0');
  assert.deepEqual(Object.keys(at(document, 'paths') as object), ['/ca/things', '/ca/things/']);
  assert.equal(at(document, 'paths', '/ca/things/', 'get', 'parameters', 0, 'name'), 'list');
});

test('what a path asks of its caller is told by extensions, each only where it holds', () => {
  const extensions = (access: AnyRoute['access']): object => {
    const document = buildOpenApi([api([route('POST', '/v1/{mount}/x', { access })])], '1.0.0');
    const item = Object.entries(at(document, 'paths', '/ca/x') as object);
    return Object.fromEntries(item.filter(([name]) => name.startsWith('x-')));
  };
  assert.deepEqual(extensions('public'), { 'x-vault-unauthenticated': true });
  assert.deepEqual(extensions({ capability: 'update' }), {});
  assert.deepEqual(extensions({ capability: 'update', sudo: true }), { 'x-vault-sudo': true });
  assert.deepEqual(extensions({ capability: 'update', exists: async () => true }), {
    'x-vault-createSupported': true,
  });
});

test('a partial update is a merge patch, and bytes are bytes', () => {
  const document = buildOpenApi(
    [
      api([
        route('PATCH', '/v1/{mount}/x'),
        route('POST', '/v1/{mount}/ocsp', { body: 'bytes', input: z.object({}) }),
      ]),
    ],
    '1.0.0',
  );
  const types = (path: string, verb: string): string[] =>
    Object.keys(at(document, 'paths', path, verb, 'requestBody', 'content') as object);
  assert.deepEqual(types('/ca/x', 'patch'), ['application/merge-patch+json']);
  assert.deepEqual(types('/ca/ocsp', 'post'), ['application/octet-stream']);
});

test('two mounts of one engine have operations of their own and share the schemas', () => {
  const routes = [route('POST', '/v1/{mount}/x')];
  const document = buildOpenApi(
    [api(routes, { id_prefix: 'a-' }), api(routes, { at: '/b', id_prefix: 'b-' })],
    '1.0.0',
  );
  assert.equal(at(document, 'paths', '/ca/x', 'post', 'operationId'), 'a-post-thing');
  assert.equal(at(document, 'paths', '/b/x', 'post', 'operationId'), 'b-post-thing');
  const schemas = Object.keys(at(document, 'components', 'schemas') as object);
  const ofOne = buildOpenApi([api(routes)], '1.0.0');
  assert.deepEqual(schemas, Object.keys(at(ofOne, 'components', 'schemas') as object));
  assert.ok(schemas.includes('PostThingRequest') && schemas.includes('PostThingResponse'));
});

test('an API of another style is described by its own encoding', () => {
  const error = z.object({ teapot: z.boolean() });
  const style: ApiStyle = {
    name: 'Tea',
    schemas: { TeaError: error },
    refusal: 'TeaError',
    answersOf: ({ output }, ref) => {
      const payload = output as z.ZodType;
      const body = { media_type: 'application/json', schema: ref(payload) };
      return [{ status: 200, says: 'tea', body, payload }];
    },
    status: () => 418,
  };
  const routes = [route('POST', '/v1/targets/{id}:authorize-session')];
  const document = buildOpenApi([api(routes, { style, prefix: '/v1', at: '' })], '1.0.0');
  const operation = at(document, 'paths', '/targets/{id}:authorize-session', 'post');
  const responses = at(operation, 'responses') as object;
  assert.deepEqual(Object.entries(responses), [
    ['200', { $ref: '#/components/responses/PostThing200' }],
    ['418', { $ref: '#/components/responses/TeaForbiddenOrInvalid' }],
    ['default', { $ref: '#/components/responses/TeaRefusal' }],
  ]);
  const schemaOf = (name: string): unknown =>
    at(document, 'components', 'responses', name, 'content', 'application/json', 'schema');
  assert.deepEqual(schemaOf('PostThing200'), { $ref: '#/components/schemas/PostThingResponse' });
  assert.deepEqual(schemaOf('TeaRefusal'), { $ref: '#/components/schemas/TeaError' });
});

test('a reference page has each field with its type, default and meaning', () => {
  const page = writeReference({
    title: 'Things',
    intro: 'About things.',
    style: VAULT_STYLE,
    routes: [route('POST', '/v1/{mount}/things/{name}')],
  });
  assert.match(page, /^\| `name` \| string \| in the path \| Which one\. \|$/m);
  assert.match(page, /^\| `ttl` \| integer \| `30` \| How long\. \|$/m);
  assert.match(page, /^\| `domains` \| list of string \| {2}\| Where \\\| whose\. \|$/m);
  assert.match(page, /^Answer: `data`\.$/m);
  assert.match(page, /^\| `serial_number` \| string \| {2}\| {2}\|$/m);
  assert.match(page, /^Refusals: 400 \(invalid\)\.$/m);
});
