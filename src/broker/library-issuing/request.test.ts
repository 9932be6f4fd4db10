import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import {
  fillBody,
  fillName,
  fillPath,
  fillRequiredName,
  planSshRequest,
  UnfitValue,
} from './request.ts';
import { encodeSshPublicKey } from './ssh-public-key.ts';

const named = (name: string) => ({ 'User.Name': name });

const inPath: [name: string, path: string | undefined][] = [
  ['ada', 'secret/ada'],
  ['ada l', 'secret/ada%20l'],
  ['a?b#c%', 'secret/a%3Fb%23c%25'],
  ['a/b', undefined],
  ['a\\b', undefined],
  ['..', undefined],
  ['.', undefined],
  ['', undefined],
];

for (const [name, path] of inPath) {
  test(`the name ${JSON.stringify(name)} ${path ? 'is one segment of' : 'cannot stand in'} a path`, () => {
    const fill = (): string => fillPath('secret/{{.User.Name}}', named(name));
    if (path === undefined) assert.throws(fill, UnfitValue);
    else assert.equal(fill(), path);
  });
}

test('no name ends the text of JSON that it stands in', () => {
  const body = fillBody('{"cn":"{{.User.Name}}","ttl":"1h"}', named('a","ttl":"9h\\'));
  assert.deepEqual(JSON.parse(body), { cn: 'a","ttl":"9h\\', ttl: '1h' });
});

test('no name is more than one name of a list', () => {
  assert.equal(fillName('{{.User.Name}}.test,b.test', named('a')), 'a.test,b.test');
  assert.throws(() => fillName('{{.User.Name}}.test', named('a.test,evil')), UnfitValue);
  assert.throws(() => fillName('{{.User.Name}}', named('a\nb')), UnfitValue);
  assert.equal(fillName('{{.User.Name}}', named('')), '');
  assert.throws(() => fillRequiredName('{{.User.Name}}', named('')), UnfitValue);
});

test('an SSH engine is asked for one user, with the principals of the library', () => {
  const asked = planSshRequest(
    {
      path: 'ssh/issue/role',
      username: '{{.User.Name}}',
      additional_valid_principals: ['web'],
      extensions: { 'permit-pty': '' },
      ttl: '5m',
    },
    named('ada'),
  );
  assert.deepEqual(asked, {
    username: 'ada',
    path: 'ssh/issue/role',
    issues: true,
    body: {
      cert_type: 'user',
      valid_principals: 'ada,web',
      extensions: { 'permit-pty': '' },
      ttl: '5m',
    },
  });
  const sign = { path: 'ssh/sign/role', username: 'root' };
  assert.equal(planSshRequest(sign, {}).issues, false);
});

test('public keys are written as OpenSSH writes them', () => {
  const typeOf = (line: string): [string, string] => {
    const [type = '', blob = ''] = line.split(' ');
    const bytes = Buffer.from(blob, 'base64');
    return [type, bytes.toString('latin1', 4, 4 + bytes.readUInt32BE(0))];
  };
  const keys: [key: KeyObject, type: string][] = [
    [generateKeyPairSync('ed25519').publicKey, 'ssh-ed25519'],
    [generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey, 'ecdsa-sha2-nistp384'],
    [generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey, 'ssh-rsa'],
  ];
  for (const [key, type] of keys) {
    assert.deepEqual(typeOf(encodeSshPublicKey(key)), [type, type]);
  }
});
