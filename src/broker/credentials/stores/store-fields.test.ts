import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../core/failure.ts';
import { FieldErrors } from '../../resource/field-errors.ts';
import { checkNewStore } from './store-fields.ts';

function faults(attributes: object): string[] {
  const errors = new FieldErrors();
  checkNewStore({ attributes }, 'vault', errors);
  try {
    errors.refuse('refused');
    return [];
  } catch (error) {
    assert.ok(error instanceof Failure);
    return Object.keys(error.detail.fields ?? {});
  }
}

const servers: [more: object, fields: readonly string[]][] = [
  [{}, []],
  [{ address: 'https://192.0.2.1:8200' }, []],
  [{ address: 'ldap://a' }, ['attributes.address']],
  [{ tls_server_name: 'vault_1.test' }, []],
  [{ tls_server_name: '192.0.2.1' }, ['attributes.tls_server_name']],
  [{ tls_server_name: '::1' }, ['attributes.tls_server_name']],
  [{ tls_server_name: 'a b' }, ['attributes.tls_server_name']],
  [{ worker_filter: '"a" in "/tags/type"' }, []],
  [{ worker_filter: '' }, []],
  [{ worker_filter: 'a ==' }, ['attributes.worker_filter']],
  [{ namespace: 'a/b' }, []],
  [{ namespace: 'a b' }, ['attributes.namespace']],
];
for (const [more, fields] of servers) {
  test(`a store with ${JSON.stringify(more)} is ${fields.length > 0 ? 'refused' : 'taken'}`, () => {
    assert.deepEqual(faults({ address: 'https://a', token: 't', ...more }), fields);
  });
}
