import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { testMount } from '../../../test/support/app.ts';
import type { Mount } from '../../app/mount.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { compileRoutes, findMount } from './router.ts';

test('of a path with thousands of segments no more is looked up than mounts have lengths', () => {
  let asked = 0;
  class Counted extends Map<string, Mount> {
    override get(path: string): Mount | undefined {
      asked += 1;
      return super.get(path);
    }
  }
  const mounts = new Counted(
    ['pki/', 'team/pki/'].map((path) => [path, testMount({ kind: 'secret', path, type: 'pki' })]),
  );
  const rest = 'a/'.repeat(4000);
  assert.equal(findMount(mounts, `team/pki/${rest}`)?.mount.path, 'team/pki/');
  asked = 0;
  assert.equal(findMount(mounts, `a/${rest}`), undefined);
  assert.ok(asked <= 3, `${asked}`);
});

const declare = (path: string, form?: RegExp): AnyRoute =>
  vaultRoute({
    id: path,
    method: 'GET',
    path: `/v1/{mount}${path}`,
    summary: '',
    access: 'public',
    input: z.object({}),
    output: z.object({}),
    failures: [],
    ...(form && { path_forms: { name: form, rest: form } }),
    run: async () => ({ data: {} }),
  });

const SLASHLESS = /^[^/]+$/;
const PATHS = [
  declare('/'),
  declare('/cert/ca'),
  declare('/cert/{name}', SLASHLESS),
  declare('/cert/{name}/raw'),
  declare('/ca/{name}/raw'),
  declare('/ca/deep/cooked'),
  declare('/ocsp/{rest+}', /^[^/].*$/),
  declare('/{name}/any'),
];

const cases: [asked: string, found: string | undefined, params: object, why: string][] = [
  ['/', '/', {}, 'the mount itself'],
  ['/cert/ca', '/cert/ca', {}, 'a word goes before a name'],
  ['/cert/cb', '/cert/{name}', { name: 'cb' }, 'another word is a name'],
  ['/cert/ca/raw', '/cert/{name}/raw', { name: 'ca' }, 'a word that leads nowhere is a name'],
  ['/ca/deep/raw', '/ca/{name}/raw', { name: 'deep' }, 'also in the middle'],
  ['/ca/deep/cooked', '/ca/deep/cooked', {}, 'where it leads somewhere it is the word'],
  ['/cert/any', '/cert/{name}', { name: 'any' }, 'the first choice goes as far as it leads'],
  ['/cert', undefined, {}, 'a path that ends before its name'],
  ['/cert/', undefined, {}, 'a name is not empty'],
  ['/cert/ca/', undefined, {}, 'a slash too many'],
  ['//cert/ca', undefined, {}, 'a slash too many at the beginning'],
  ['/Cert/ca', undefined, {}, 'case counts'],
  ['/cert/a%2Fb?;#', '/cert/{name}', { name: 'a%2Fb?;#' }, 'nothing is decoded'],
  ['/ocsp/a/b//c', '/ocsp/{rest+}', { rest: 'a/b//c' }, 'a rest has slashes'],
  ['/ocsp/', undefined, {}, 'and is not empty'],
  ['/ocsp//a', undefined, {}, 'and has the form that is declared'],
  ['/ocsp/any', '/ocsp/{rest+}', { rest: 'any' }, 'a rest goes before a name further left'],
  ['/x/any', '/{name}/any', { name: 'x' }, 'a name at the beginning'],
  [`/cert/${'x'.repeat(8192)}`, '/cert/{name}', { name: 'x'.repeat(8192) }, 'a long name'],
  [`/cert/${'x'.repeat(8193)}`, undefined, {}, 'a name that is too long'],
];

for (const [asked, found, params, why] of cases) {
  test(`${asked.slice(0, 20)}: ${why}`, () => {
    const match = compileRoutes(PATHS, '/v1/{mount}').find(asked);
    assert.equal(match?.routes.GET?.id, found);
    assert.deepEqual(match?.params ?? {}, params);
  });
}

for (const [paths, why] of [
  [['/a', '/a'], 'a path twice'],
  [['/{name}/a', '/{other}/a'], 'a path twice, by other names'],
  [['/a-{name}'], 'a name that is a part of a segment'],
  [['/{rest+}/a'], 'a rest with more behind it'],
] as const) {
  test(`not declared: ${why}`, () => {
    assert.throws(() =>
      compileRoutes(
        paths.map((path) => declare(path)),
        '/v1/{mount}',
      ),
    );
  });
}
