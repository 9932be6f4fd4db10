import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePostgresUrl } from '../../core/postgres-url.ts';
import { tlsOf } from './secured.ts';

const at = (query: string): string => `postgres://gatehouse:hunter2@db.test/gatehouse${query}`;

test('without TLS it is so whatever the environment says; a file that is not there is named', () => {
  const of = (query: string) => tlsOf(parsePostgresUrl(at(query)).security);
  assert.equal(of(''), false);
  assert.throws(() => of('?sslmode=verify-full&sslrootcert=/no/such.pem'), {
    kind: 'invalid',
    message: 'sslrootcert of storage.url: "/no/such.pem" cannot be read: ENOENT',
  });
});
