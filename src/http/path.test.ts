import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../core/failure.ts';
import { canonicalisePath } from './path.ts';

const accepted: [url: string, path: string, slash: boolean, why: string][] = [
  ['/v1/pki/roles/web', 'pki/roles/web', false, 'a plain path'],
  ['/v1/pki/roles/', 'pki/roles', true, 'one slash at the end'],
  ['/v1/pki/roles/we%62', 'pki/roles/web', false, 'an encoded letter is the letter'],
  ['/v1/PKI/roles', 'PKI/roles', false, 'case is kept, so it names another mount'],
  ['/v1/pki/ocsp/MEI%2Fx//y+%3D', 'pki/ocsp/MEI/x//y+=', false, 'base64 keeps its slashes'],
  ['/v1/pki/ocsp/a%00b', 'pki/ocsp/-', false, 'what is no base64 is no request'],
  ['/v1/pki/cert/1a:2b', 'pki/cert/1a:2b', false, 'a serial with colons'],
];
for (const [url, path, slash, why] of accepted) {
  test(`${url}: ${why}`, () => {
    const found = canonicalisePath(url);
    assert.deepEqual([found.path, found.slash], [path, slash]);
  });
}

const refused: [url: string, kind: string, why: string][] = [
  ['/v1/pki/../sys/seal', 'invalid', 'a relative segment'],
  ['/v1/pki/%2e%2e/sys/seal', 'invalid', 'an encoded relative segment'],
  ['/v1/pki/./roles', 'invalid', 'a dot segment'],
  ['/v1/pki//roles', 'invalid', 'an empty segment'],
  ['/v1//pki/roles', 'invalid', 'an empty first segment'],
  ['/v1/pki/roles//', 'invalid', 'two slashes at the end'],
  ['/v1/pki%2froles', 'invalid', 'an encoded slash'],
  ['/v1/pki/roles%5cweb', 'invalid', 'an encoded backslash'],
  ['/v1/pki/roles\\web', 'invalid', 'a backslash'],
  ['/v1/pki/roles%00', 'invalid', 'NUL'],
  ['/v1/pki/roles%0a', 'invalid', 'a line feed'],
  ['/v1/pki/%252e%252e/x', 'invalid', 'a double encoding'],
  ['/v1/pki/%ff', 'invalid', 'bytes that are not UTF-8'],
  ['/v1/pki/%zz', 'invalid', 'a percent sign that is none'],
  [`/v1/${'a'.repeat(9000)}`, 'invalid', 'a path without end'],
  ['/v1/x/../pki/ocsp/abc', 'invalid', 'a relative segment before a tail'],
  ['/v2/pki', 'not_found', 'another version'],
  ['/V1/pki', 'not_found', 'another case'],
  ['/', 'not_found', 'no path at all'],
];
for (const [url, kind, why] of refused) {
  test(`${url.slice(0, 40)} is refused: ${why}`, () => {
    assert.throws(
      () => canonicalisePath(url),
      (error) => error instanceof Failure && error.kind === kind,
    );
  });
}
