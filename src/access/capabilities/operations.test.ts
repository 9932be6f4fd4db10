import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, requireTestMount, testCaller } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { holdBounds } from '../../../test/support/machine.ts';
import { longestTurn } from '../../../test/support/turns.ts';
import { POLICY_LIMITS } from '../../acl/policy-limits.ts';
import { Failure } from '../../core/failure.ts';
import type { Store } from '../../store/store.ts';
import { authenticate } from '../permissions/authentication.operations.ts';
import { writePolicy } from '../policies/operations.ts';
import { planned } from '../tokens/creation.ts';
import { mintToken, prepareRootToken } from '../tokens/minting.operations.ts';
import { describeOfAccessor, describeOfToken, describeOwn, namesOfPaths } from './operations.ts';

async function openServer(open: () => Promise<Store>) {
  const { app, clock } = await openTestApp(await open());
  const mount = await requireTestMount(app, 'sys/');
  const root = prepareRootToken(app, { id: 'root' });
  const { id: _id, accessor: _accessor, ...facts } = root.token;
  const plan = planned({ ...facts, policies: ['reader'] }, 'service', undefined, clock.now);
  const reader = mintToken(app, plan);
  const nobody = testCaller(mount);
  await app.commit(nobody, [...root.effects, ...reader.effects]);
  await writePolicy(app, nobody, {
    name: 'reader',
    text: 'path "pki/roles/*" { capabilities = ["read", "list"] }',
  });
  const caller = testCaller(mount, (await authenticate(app, 'root')) ?? assert.fail());
  return { app, caller, reader };
}

eachEngine('capabilities', (open) => {
  test('root may do everything, and one path is answered under a fixed name as well', async () => {
    const { app, caller } = await openServer(open);
    const { data } = await describeOwn(app, caller, { paths: ['pki/issue/web'] });
    assert.deepEqual(data, { 'pki/issue/web': ['root'], capabilities: ['root'] });
  });

  test('another token is told by what its policies grant, by text and by accessor', async () => {
    const { app, caller, reader } = await openServer(open);
    const paths = ['pki/roles/web', 'sys/mounts'];
    const expected = { 'pki/roles/web': ['list', 'read'], 'sys/mounts': ['deny'] };
    const byText = await describeOfToken(app, caller, { token: reader.client_token, paths });
    assert.deepEqual(byText.data, expected);
    const byAccessor = await describeOfAccessor(app, caller, { accessor: reader.accessor, paths });
    assert.deepEqual(byAccessor.data, expected);
  });

  test('without a path there is nothing to tell', async () => {
    const { app, caller } = await openServer(open);
    await assert.rejects(
      describeOwn(app, caller, { paths: [] }),
      (error: unknown) => error instanceof Failure && /paths must be supplied/.test(error.message),
    );
  });

  test('more paths than a page shows are refused', async () => {
    const { app, caller } = await openServer(open);
    const paths = Array.from({ length: 257 }, (_, at) => `pki/roles/${at}`);
    await assert.rejects(
      describeOwn(app, caller, { paths }),
      (error: unknown) => error instanceof Failure && /^paths: at most 256/.test(error.message),
    );
    const { data } = await describeOwn(app, caller, { paths: paths.slice(1) });
    assert.equal(Object.keys(data ?? {}).length, 256);
  });

  test('under as many rules as may be, others have their turn between two paths', async () => {
    const { app, reader, caller } = await openServer(open);
    const stanza = (at: number) => `path "auth/+/+/Z${at}*" { capabilities = ["read"] }`;
    const text = Array.from({ length: POLICY_LIMITS.stanzas }, (_, at) => stanza(at)).join('\n');
    await writePolicy(app, caller, { name: 'reader', text });
    // Every path has a name of two spellings somewhere else, which makes the most work.
    namesOfPaths(app).find = async (path) => [
      { at: path.length % 6, form: 'lower_case' },
      { at: 3, form: 'lower_case' },
    ];
    const paths = Array.from({ length: 250 }, (_, at) => `auth/a/b/z${at}${'x'.repeat(at % 40)}`);
    const describe = async (): Promise<void> => {
      const { data } = await describeOfToken(app, caller, { token: reader.client_token, paths });
      assert.deepEqual(new Set(Object.values(data ?? {}).map(String)), new Set(['read']));
    };
    // A few milliseconds for each of six kinds, all of which are kept.
    await holdBounds({ turn: 100 }, async () => ({ turn: await longestTurn(describe) }));
  });

  test('paths that would take too long to judge are refused, and those before them are answered', async () => {
    const { app, reader, caller } = await openServer(open);
    // Nobody has the name, and each is compared with what is written in their middle.
    const guard = (n: number) => `path "a/{{identity.entity.name}}x${n}{{identity.entity.name}}"`;
    const stanzas = Array.from({ length: 1900 }, (_, n) => `${guard(n)} { policy = "deny" }`);
    const text = `path "a/*" { policy = "read" } ${stanzas.join('\n')}`;
    await writePolicy(app, caller, { name: 'reader', text });
    const paths = Array.from({ length: 256 }, (_, n) => `a/${'x'.repeat(100)}y${n}`);
    const ask = (asked: readonly string[]) =>
      describeOfToken(app, caller, { token: reader.client_token, paths: asked });
    await assert.rejects(
      ask(paths),
      (error: unknown) =>
        error instanceof Failure &&
        error.kind === 'invalid' &&
        /^paths: judging more than \d+ by the token's policies takes too long/.test(error.message),
    );
    const { data } = await ask(paths.slice(0, 20));
    assert.deepEqual(new Set(Object.values(data ?? {}).map(String)), new Set(['list,read']));
  });
});
