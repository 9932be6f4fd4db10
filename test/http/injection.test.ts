import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, test } from 'node:test';
import { encodeSshPublicKey } from '../../src/ssh/public-key.ts';
import { startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const broker = await startBroker({ after });
const { admin, make, project } = broker;
const line = encodeSshPublicKey(generateKeyPairSync('ed25519').publicKey);

const store = await make('credential-stores', {
  scope_id: project,
  type: 'static',
  attributes: {},
});
const credential = await make('credentials', {
  credential_store_id: store,
  type: 'username_password',
  attributes: { username: 'root', password: 'p' },
});
const FIELD = 'injected_application_credential_source_ids';

let count = 0;
const targetOf = (type: string, attributes: object = {}): Promise<string> =>
  make('targets', {
    scope_id: project,
    type,
    name: `target ${++count}`,
    address: '127.0.0.1',
    attributes: { default_port: 22, ...attributes },
  });
const inject = (target: string, verb: string, version = 1): Promise<Reply> =>
  admin('POST', `targets/${target}:${verb}-credential-sources`, { version, [FIELD]: [credential] });

const fieldsOf = (reply: Reply): Record<string, string> => {
  const details = reply.field('details') as {
    request_fields?: { name: string; description: string }[];
  };
  return Object.fromEntries(
    (details?.request_fields ?? []).map(({ name, description }) => [name, description]),
  );
};

for (const type of ['tcp', 'rdp']) {
  for (const verb of ['add', 'set']) {
    test(`credentials are not injected on a target of type ${type}: ${verb}`, async () => {
      const refused = await inject(await targetOf(type), verb);
      assert.equal(refused.status, 400, refused.text);
      assert.match(fieldsOf(refused)[FIELD] ?? '', /on targets of type "ssh" only/);
    });
  }

  test(`credentials are brokered on a target of type ${type}, and none injected are taken away`, async () => {
    const target = await targetOf(type);
    const brokered = { version: 1, brokered_credential_source_ids: [credential] };
    const added = await admin('POST', `targets/${target}:add-credential-sources`, brokered);
    assert.equal(added.status, 200, added.text);
    assert.equal((await inject(target, 'remove', 2)).status, 400);
  });
}

test('a session with injected credentials needs a host key of its target, or an authority', async () => {
  for (const [attributes, status] of [
    [{}, 400],
    [{ host_keys: [line] }, 200],
    [{ host_ca_keys: [line] }, 200],
  ] as const) {
    const target = await targetOf('ssh', attributes);
    assert.equal((await inject(target, 'add')).status, 200);
    const answer = await admin('POST', `targets/${target}:authorize-session`, {});
    assert.equal(answer.status, status, answer.text);
    if (status === 400) assert.match(answer.text, /attributes\.host_keys or attributes\.host_ca/);
    else assert.equal(answer.field('credentials'), undefined);
  }
});

test('a target without injected credentials needs no host key', async () => {
  const target = await targetOf('ssh');
  const answer = await admin('POST', `targets/${target}:authorize-session`, {});
  assert.equal(answer.status, 200, answer.text);
});

test('host keys are lines of public keys, kept, changed and taken away', async () => {
  for (const field of ['host_keys', 'host_ca_keys']) {
    const target = await targetOf('ssh', { [field]: [line, `${line} root@host`] });
    const path = `targets/${target}`;
    const read = await admin('GET', path);
    assert.deepEqual(read.field(`attributes.${field}`), [line, `${line} root@host`]);
    const changed = await admin('PATCH', path, { version: 1, attributes: { [field]: [line] } });
    assert.deepEqual(changed.field(`attributes.${field}`), [line]);
    const refused = await admin('PATCH', path, {
      version: 2,
      attributes: { [field]: [line, 'ssh-ed25519 AAAA'] },
    });
    assert.equal(refused.status, 400, refused.text);
    assert.match(fieldsOf(refused)[`attributes.${field}`] ?? '', /^Key 2 must be one line/);
    const many = { [field]: Array.from({ length: 33 }, () => line) };
    const tooMany = await admin('PATCH', path, { version: 2, attributes: many });
    assert.match(fieldsOf(tooMany)[`attributes.${field}`] ?? '', /at most 32 keys/);
    const gone = await admin('PATCH', path, { version: 2, attributes: { [field]: null } });
    assert.equal(gone.field(`attributes.${field}`), undefined, gone.text);
  }
});

test('only targets that speak SSH have host keys', async () => {
  const answer = await admin('POST', 'targets', {
    scope_id: project,
    type: 'tcp',
    name: 'no ssh',
    attributes: { default_port: 22, host_keys: [line] },
  });
  assert.equal(answer.status, 400, answer.text);
});
