import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { judgedAccess } from '../../../test/support/judged.ts';
import { POLICY_LIMITS } from '../../acl/policy-limits.ts';
import { Failure } from '../../core/failure.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import type { Store } from '../../store/store.ts';
import { readAcl } from '../permissions/sets.operations.ts';
import { listPolicies, readPolicy, removePolicy, writePolicy } from './operations.ts';

const ALL = { after: '', limit: 1000 };
const POLICY = 'path "pki/roles/*" { capabilities = ["read"] }';

async function openServer(open: () => Promise<Store>) {
  const { app, clock } = await openTestApp(await open());
  const caller = testCaller(await requireTestMount(app, 'sys/'));
  return { app, clock, caller };
}

const refusal = (message: RegExp) => (error: unknown) =>
  error instanceof Failure && error.kind === 'invalid' && message.test(error.message);

eachEngine('policies', (open) => {
  test('a policy reads back as it was written, with a version that grows', async () => {
    const { app, caller } = await openServer(open);
    await writePolicy(app, caller, { name: 'reader', text: POLICY });
    await writePolicy(app, caller, { name: 'reader', text: `${POLICY}\n` });
    assert.deepEqual(await readPolicy(app, { name: 'reader' }), {
      name: 'reader',
      body: `${POLICY}\n`,
      version: 2,
      modified_at: Date.parse('2027-01-15T08:00:00.000Z') / 1000,
    });
  });

  test('base64 of a policy is kept as the policy', async () => {
    const { app, caller } = await openServer(open);
    const text = Buffer.from(POLICY).toString('base64');
    await writePolicy(app, caller, { name: 'reader', text });
    assert.equal((await readPolicy(app, { name: 'reader' })).body, POLICY);
  });

  test('the list has the policies of the server itself', async () => {
    const { app, caller } = await openServer(open);
    assert.deepEqual(await listPolicies(app, ALL), ['default', 'root']);
    await writePolicy(app, caller, { name: 'reader', text: POLICY });
    assert.deepEqual(await listPolicies(app, ALL), ['default', 'reader', 'root']);
  });

  test('a page of the list has what comes next in byte order, wherever a page ends', async () => {
    const { app, caller } = await openServer(open);
    const others = ['a', 'default', 'defaulu', 'roos', 'roou', '\u{ff01}', '\u{1f600}'];
    for (const name of others) await writePolicy(app, caller, { name, text: POLICY });
    const all = ['a', 'default', 'defaulu', 'roos', 'root', 'roou', '\u{ff01}', '\u{1f600}'];
    for (let limit = 1; limit <= all.length + 1; limit += 1) {
      const found: string[] = [];
      for (;;) {
        const page = await listPolicies(app, { after: found.at(-1) ?? '', limit });
        found.push(...page);
        if (page.length < limit) break;
      }
      assert.deepEqual(found, all, `${limit} at a time`);
    }
  });

  test('a name in capitals is lowered, and said', async () => {
    const { app, caller } = await openServer(open);
    const answer = await writePolicy(app, caller, { name: 'Reader', text: POLICY });
    assert.deepEqual(answer.warnings, ['policy name was converted to "reader"']);
  });

  test('root can be neither written nor deleted, and default not deleted', async () => {
    const { app, caller } = await openServer(open);
    await assert.rejects(
      writePolicy(app, caller, { name: 'ROOT', text: POLICY }),
      refusal(/cannot update "root" policy/),
    );
    await assert.rejects(removePolicy(app, caller, { name: 'root' }), refusal(/cannot delete/));
    await assert.rejects(removePolicy(app, caller, { name: 'Default' }), refusal(/cannot delete/));
  });

  test('what is no policy is refused before it is stored', async () => {
    const { app, caller } = await openServer(open);
    const wrong = [' ', 'path "x" { capabilities = ["fly"] }', 'path "a/+*" { capabilities = [] }'];
    for (const text of wrong) {
      await assert.rejects(writePolicy(app, caller, { name: 'bad', text }), refusal(/polic/));
    }
    await assert.rejects(
      readPolicy(app, { name: 'bad' }),
      (error: unknown) => error instanceof Failure && error.kind === 'not_found',
    );
  });

  test('default lets a token look itself up, and an edit of it holds at once', async () => {
    const { app, caller } = await openServer(open);
    const look = {
      path: 'auth/token/lookup-self',
      operation: 'read',
      sudoRequired: false,
    } as const;
    const may = async () => judgedAccess(await readAcl(app, ['default'], undefined), look).allowed;
    assert.equal(await may(), true);
    await writePolicy(app, caller, { name: 'default', text: POLICY });
    assert.equal(await may(), false);
  });

  test('a name without a policy grants nothing', async () => {
    const { app } = await openServer(open);
    const acl = await readAcl(app, ['nobody'], undefined);
    const look = { path: 'pki/roles/web', operation: 'read', sudoRequired: false } as const;
    assert.equal(judgedAccess(acl, look).allowed, false);
  });

  test('more than a policy may have is refused when it is written', async () => {
    const { app, caller } = await openServer(open);
    const stanza = 'path "a" { required_parameters = ["p"] } ';
    const text = stanza.repeat(POLICY_LIMITS.stanzas + 1);
    await assert.rejects(
      writePolicy(app, caller, { name: 'big', text }),
      refusal(/^policy: at most 2000 paths/),
    );
    await assert.rejects(
      writePolicy(app, caller, { name: 'big', text: '#'.repeat(POLICY_LIMITS.text + 1) }),
      refusal(/^policy: at most 262144 characters/),
    );
    assert.deepEqual(await listPolicies(app, ALL), ['default', 'root']);
  });

  test('a token of more policies than are read may do nothing, and is told so', async () => {
    const { app, caller } = await openServer(open);
    const rules = Array.from({ length: POLICY_LIMITS.stanzas }, (_, at) => `path "a/${at}" {}`);
    const comment = `# ${'x'.repeat(200_000)}\n`;
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    for (const name of names) {
      await writePolicy(app, caller, { name, text: rules.join('\n') });
      await writePolicy(app, caller, { name: `long-${name}`, text: comment + POLICY });
    }
    const forbidden = (message: RegExp) => (error: unknown) =>
      error instanceof Failure && error.kind === 'forbidden' && message.test(error.message);
    assert.ok(await readAcl(app, names.slice(1), undefined));
    await assert.rejects(async () => readAcl(app, names, undefined), forbidden(/12000 paths/));
    const long = names.map((name) => `long-${name}`);
    assert.ok(await readAcl(app, long.slice(1), undefined));
    await assert.rejects(async () => readAcl(app, long, undefined), forbidden(/bytes in all/));
    // `root` is no text.
    assert.equal((await readAcl(app, [...names, 'root'], undefined)).root, true);
  });

  test('more names than a statement takes are asked for in several', async () => {
    const { app, caller } = await openServer(open);
    await writePolicy(app, caller, { name: 'p69999', text: POLICY });
    const names = Array.from({ length: 70_000 }, (_, at) => `p${at}`);
    const look = { path: 'pki/roles/web', operation: 'read', sudoRequired: false } as const;
    assert.equal(judgedAccess(await readAcl(app, names, undefined), look).allowed, true);
    assert.equal(judgedAccess(await readAcl(app, names.slice(1), undefined), look).allowed, true);
    assert.equal(
      judgedAccess(await readAcl(app, names.slice(0, -1), undefined), look).allowed,
      false,
    );
  });

  test('what others are permitted is not worked out again for a change of a policy', async () => {
    const { app, caller } = await openServer(open);
    const person = (name: string): IdentityFacts => ({
      entity: { id: 'e-1', name, metadata: {}, aliases: {} },
      groups: [],
    });
    const own = 'path "secret/{{identity.entity.name}}" { capabilities = ["read"] }';
    await writePolicy(app, caller, { name: 'mine', text: POLICY });
    await writePolicy(app, caller, { name: 'own', text: own });
    const read = (as?: IdentityFacts) => readAcl(app, ['mine', 'own'], as);
    const [before, ofAnn] = [await read(), await read(person('ann'))];
    await writePolicy(app, caller, { name: 'other', text: POLICY });
    assert.equal(await read(), before);
    assert.equal(await read(person('ann')), ofAnn);
    const ofBob = await read(person('bob'));
    const look = (path: string) => ({ path, operation: 'read', sudoRequired: false }) as const;
    assert.equal(judgedAccess(ofBob, look('secret/bob')).allowed, true);
    assert.equal(judgedAccess(ofBob, look('secret/ann')).allowed, false);
    // Gone and written anew within the same second, with the same version.
    await removePolicy(app, caller, { name: 'mine' });
    await writePolicy(app, caller, { name: 'mine', text: 'path "a" { capabilities = ["read"] }' });
    assert.equal(judgedAccess(await read(), look('pki/roles/web')).allowed, false);
    assert.equal(judgedAccess(await read(person('bob')), look('a')).allowed, true);
  });
});
