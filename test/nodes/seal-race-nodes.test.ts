// What shares authorise, in the moment in which a rekeying replaces them: on the same node, and on another.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { newDirectory } from '../support/node-process.ts';
import { configAt } from '../support/placed-server.ts';
import { must } from '../support/racing.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

type SealType = 'shamir' | 'keyfile';

/** An installation with three shares of which two are needed, whose commits on one node can be held. */
interface Installation {
  /** Its commits can be held. */
  near: Client;
  /** Another node, or the same where there is no other. */
  far: Client;
  holder: CommitHolder;
  root: string;
  shares: string[];
  rekeyPath: string;
}

const COUNTS = { secret_shares: 3, secret_threshold: 2 };

async function install(t: TestContext, place: Place, type: SealType): Promise<Installation> {
  const directory = newDirectory(t);
  const holder = new CommitHolder();
  const start = (node_name: string, store?: CommitHolder['over']): Promise<Client> => {
    const config = configAt(place, directory, { node_name, seal: type });
    return startTestServer(t, { config, ...(store ? { store } : {}) });
  };
  const near = await start('a', holder.over);
  const far = place.options().engine === 'postgres' ? await start('b') : near;
  const counts = type === 'shamir' ? COUNTS : { recovery_shares: 3, recovery_threshold: 2 };
  const made = await put(near, 'sys/init', counts);
  const shares = made.field(type === 'shamir' ? 'keys' : 'recovery_keys');
  assert.ok(Array.isArray(shares) && shares.length === 3);
  const root = made.textAt('root_token');
  if (type === 'shamir') for (const node of new Set([near, far])) await unseal(node, shares);
  while ((await far.call('GET', 'sys/health')).status !== 200)
    await far.running.app.store.refreshConfig();
  const rekeyPath = type === 'shamir' ? 'sys/rekey' : 'sys/rekey-recovery-key';
  return { near, far, holder, root, shares, rekeyPath };
}

const ask = (node: Client, path: string, body: unknown, token = ''): Promise<Reply> =>
  node.call('PUT', path, body, { token });
const put = (node: Client, path: string, body: unknown, token = ''): Promise<Reply> =>
  must(ask(node, path, body, token));

async function unseal(node: Client, shares: readonly string[]): Promise<void> {
  for (const key of shares.slice(0, 2)) await put(node, 'sys/unseal', { key });
}

/** Gives all shares but the last that is needed, and answers what gives that. */
async function almost(
  { near, shares }: Installation,
  start: string,
  body: object,
  update: string,
): Promise<() => Promise<Reply>> {
  const { nonce } = JSON.parse((await put(near, start, body)).text);
  await put(near, update, { key: shares[0], nonce });
  return () => ask(near, update, { key: shares[1], nonce });
}

/** Replaces the shares on the far node. */
async function rekey({ far, shares, rekeyPath }: Installation): Promise<string[]> {
  const begun = await ask(far, `${rekeyPath}/init`, COUNTS);
  // On one node there is one rekeying: another one than the one under way cannot come first.
  assert.ok(begun.status < 300, begun.text);
  const nonce = begun.textAt('nonce');
  await put(far, `${rekeyPath}/update`, { key: shares[0], nonce });
  const done = await put(far, `${rekeyPath}/update`, { key: shares[1], nonce });
  const fresh = done.field('keys');
  assert.ok(Array.isArray(fresh) && fresh.length === 3, done.text);
  return fresh;
}

interface Authorised {
  name: string;
  seals: readonly SealType[];
  /** Its last share's request: its path, and how to send it. */
  prepare(at: Installation): Promise<{ path: string; finish: () => Promise<Reply> }>;
  /** Whether it needs a node of its own: the other one seals, or rekeys itself. */
  apart?: boolean;
  /** What its answer must not have once the rekeying was first. */
  made: RegExp;
}

const cases: Authorised[] = [
  {
    name: 'a root token',
    seals: ['shamir', 'keyfile'],
    made: /"encoded_token":"\w/,
    async prepare(at) {
      const path = 'sys/generate-root/update';
      return { path, finish: await almost(at, 'sys/generate-root/attempt', {}, path) };
    },
  },
  {
    name: 'an unsealing',
    seals: ['shamir'],
    made: /"sealed":false/,
    apart: true,
    async prepare({ near, root, shares }) {
      await put(near, 'sys/seal', {}, root);
      await put(near, 'sys/unseal', { key: shares[0] });
      const path = 'sys/unseal';
      return { path, finish: () => ask(near, path, { key: shares[1] }) };
    },
  },
  {
    name: 'another rekeying',
    seals: ['shamir', 'keyfile'],
    made: /"keys":\[/,
    apart: true,
    async prepare(at) {
      const path = `${at.rekeyPath}/update`;
      return { path, finish: await almost(at, `${at.rekeyPath}/init`, COUNTS, path) };
    },
  },
  {
    name: 'a verified rekeying',
    seals: ['shamir'],
    made: /"complete":true/,
    apart: true,
    async prepare(at) {
      const { near, rekeyPath } = at;
      const start = { ...COUNTS, require_verification: true };
      const update = await almost(at, `${rekeyPath}/init`, start, `${rekeyPath}/update`);
      const made = await must(update());
      const keys = made.field('keys');
      assert.ok(Array.isArray(keys));
      const nonce = made.textAt('verification_nonce');
      const path = `${rekeyPath}/verify`;
      await put(near, path, { key: keys[0], nonce });
      return { path, finish: () => ask(near, path, { key: keys[1], nonce }) };
    },
  },
];

async function forgetHashes({ near }: Installation): Promise<void> {
  const forget = build.updateTable('seal').set({ share_hashes: null });
  await near.running.app.store.commit([write(forget, { rows: 1 })]);
}

async function countTokens({ far }: Installation): Promise<number> {
  return (await far.running.app.db.selectFrom('token').select('id').execute()).length;
}

/** Where the last share's request is overtaken; `what`: what of it is not durable yet. */
const MOMENTS = [
  { when: 'its record', what: 'record', isOld: false },
  { when: 'itself, of a seal whose shares are not known', what: 'change', isOld: true },
  { when: 'itself', what: 'change', isOld: false },
] as const;

eachPlace('what shares authorise', (newPlace, engine) => {
  for (const { name, seals, made, apart, prepare } of cases) {
    if (apart && engine === 'sqlite') continue;
    for (const type of seals) {
      for (const { when, what, isOld } of type === 'shamir' ? MOMENTS : MOMENTS.slice(-1)) {
        test(`${name} (${type}) is not made once a rekeying was quicker than ${when}`, async (t) => {
          const at = await install(t, await newPlace(), type);
          if (isOld) await forgetHashes(at);
          const { path, finish } = await prepare(at);
          const tokens = await countTokens(at);
          const held = at.holder.hold(path, what);
          const finishing = finish();
          const early = await Promise.race([held.reached, finishing]);
          assert.equal(early, undefined, `was to write: ${early?.text}`);
          const fresh = await rekey(at).finally(held.letGo);
          const late = await finishing;
          assert.equal(late.status, 400, late.text);
          assert.match(late.text, /start over/);
          assert.doesNotMatch(late.text, made);
          assert.equal(await countTokens(at), tokens);
          // The new shares are in force, and no others.
          if (type !== 'shamir') return;
          await put(at.far, 'sys/seal', {}, at.root);
          assert.equal((await ask(at.far, 'sys/unseal', { key: at.shares[2] })).status, 400);
          await unseal(at.far, fresh);
          assert.equal((await at.far.call('GET', 'sys/health')).status, 200);
        });
      }

      test(`${name} (${type}) is made when it was quicker than a rekeying`, async (t) => {
        const at = await install(t, await newPlace(), type);
        const { finish } = await prepare(at);
        const done = await must(finish());
        assert.match(done.text, made);
        if (name.includes('rekeying')) {
          const begun = await put(at.far, `${at.rekeyPath}/init`, COUNTS);
          const { nonce } = JSON.parse(begun.text);
          const old = await ask(at.far, `${at.rekeyPath}/update`, { key: at.shares[0], nonce });
          assert.equal(old.status, 400, old.text);
        } else {
          await rekey(at);
        }
        assert.equal((await at.near.call('GET', 'sys/health')).status, 200);
      });
    }
  }

  if (engine !== 'postgres') return;

  test('a node that is unsealed while another makes new keys has those too', async (t) => {
    const at = await install(t, await newPlace(), 'shamir');
    const { near, far, holder, root, shares } = at;
    await put(near, 'sys/seal', {}, root);
    await put(near, 'sys/unseal', { key: shares[0] });
    const held = holder.hold('sys/unseal');
    const unsealing = ask(near, 'sys/unseal', { key: shares[1] });
    await held.reached;
    await put(far, 'sys/rotate', {}, root).finally(held.letGo);
    assert.match((await must(unsealing)).text, /"sealed":false/);
    const status = await near.call('GET', 'sys/key-status', undefined, { token: root });
    assert.equal(status.field('data.term'), 2, status.text);
  });
});
