import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { Failure } from '../../src/core/failure.ts';
import type { Store } from '../../src/store/store.ts';
import type { Effect } from '../../src/store/write.ts';
import type { Place } from './engines.ts';
import { newDirectory } from './node-process.ts';
import { configAt } from './placed-server.ts';
import { must } from './racing.ts';
import { type Client, type Reply, startTestServer } from './server.ts';

/** What a database does with a write: it may write what it never confirms. A promise is waited for first. */
export type Will = 'write and fail' | 'fail' | Promise<void>;

/** A node whose database does as it is told with the two steps of a rekeying, one after another. */
export interface RekeyingNode extends Client {
  /** With the seal that is stored beside the one in force. */
  first: Will[];
  /** With the seal that is put in force. */
  second: Will[];
  /** Milliseconds that its clock is ahead. */
  clock: { ahead: number };
  stepped(step: 'first' | 'second'): Promise<void>;
}

export interface RekeyingBench {
  a: RekeyingNode;
  /** Another node, or the same where there is no other. */
  b: RekeyingNode;
  root: string;
  shares: string[];
  /** The path of rekeying. */
  path: string;
}

export const NEVER: readonly Will[] = Array.from({ length: 20 }, () => 'fail' as const);

const STEPS = {
  first: /^insert into "seal_next"/,
  second: /^update "seal" set .*"root_key_sealed"/,
} as const;

const isStep = (effects: readonly Effect[], step: keyof typeof STEPS): boolean =>
  effects.some((one) => 'sql' in one && STEPS[step].test(one.sql));

async function startNode(t: TestContext, config: Partial<Config>): Promise<RekeyingNode> {
  const told = { first: [] as Will[], second: [] as Will[] };
  const waiting: Record<keyof typeof STEPS, (() => void)[]> = { first: [], second: [] };
  const store = (real: Store): Store => ({
    ...real,
    commit: async (effects) => {
      const step = (['first', 'second'] as const).find((one) => isStep(effects, one));
      if (step === undefined) return real.commit(effects);
      for (const tell of waiting[step].splice(0)) tell();
      const will = told[step].shift();
      if (will instanceof Promise) await will;
      if (will !== 'fail') await real.commit(effects);
      if (typeof will === 'string') {
        throw new Failure('unavailable', 'the database did not confirm the write');
      }
    },
  });
  const clock = { ahead: 0 };
  const now = (): number => Date.now() + clock.ahead;
  const client = await startTestServer(t, { config, store, now });
  const stepped = (step: keyof typeof STEPS): Promise<void> =>
    new Promise((resolve) => void waiting[step].push(resolve));
  return { ...client, ...told, clock, stepped };
}

export async function installRekeying(
  t: TestContext,
  place: Place,
  type: 'shamir' | 'keyfile',
): Promise<RekeyingBench> {
  const directory = newDirectory(t);
  const start = (node_name: string): Promise<RekeyingNode> =>
    startNode(t, configAt(place, directory, { node_name, seal: type }));
  const a = await start('a');
  const isShamir = type === 'shamir';
  const counts = isShamir ? COUNTS : { recovery_shares: 3, recovery_threshold: 2 };
  const made = await must(put(a, 'sys/init', counts));
  const shares = sharesOf(made, isShamir ? 'keys' : 'recovery_keys');
  const b = place.options().engine === 'postgres' ? await start('b') : a;
  const path = isShamir ? 'sys/rekey' : 'sys/rekey-recovery-key';
  if (isShamir) for (const node of new Set([a, b])) await give(node, 'sys/unseal', shares);
  return { a, b, root: made.textAt('root_token'), shares, path };
}

const COUNTS = { secret_shares: 3, secret_threshold: 2 };

export const put = (node: Client, path: string, body: object, token = ''): Promise<Reply> =>
  node.call('PUT', path, body, { token });

export function sharesOf(reply: Reply, name = 'keys'): string[] {
  const list = reply.field(name);
  assert.ok(Array.isArray(list), reply.text);
  return list.map(String);
}

/** Gives two shares, and answers what the second was answered. */
export async function give(
  node: Client,
  path: string,
  shares: readonly string[],
  nonce = '',
): Promise<Reply> {
  await must(put(node, path, { key: shares[0], nonce }));
  return put(node, path, { key: shares[1], nonce });
}

export async function begin(
  node: Client,
  path: string,
  verified = false,
  secret_shares = COUNTS.secret_shares,
): Promise<string> {
  const body = { ...COUNTS, secret_shares, require_verification: verified };
  return (await must(put(node, `${path}/init`, body))).textAt('nonce');
}

/** A whole rekeying on a node: the answer to its last share. */
export const rekeyOn = async (
  node: Client,
  path: string,
  shares: readonly string[],
): Promise<Reply> => give(node, `${path}/update`, shares, await begin(node, path));

/** A rekeying on a node until its new shares are to be shown. */
export async function almostVerified(
  node: Client,
  path: string,
  shares: readonly string[],
): Promise<{ made: string[]; nonce: string }> {
  const done = await must(give(node, `${path}/update`, shares, await begin(node, path, true)));
  return { made: sharesOf(done), nonce: done.textAt('verification_nonce') };
}

/** What is stored beside the seal in force. */
export const besides = ({ running }: Client): Promise<unknown[]> =>
  running.app.db.selectFrom('seal_next').select('generation').execute();

/** Whether these are shares of the key in force, by what they authorise. */
export async function authorise(
  { b, root }: Pick<RekeyingBench, 'b' | 'root'>,
  shares: readonly string[],
): Promise<boolean> {
  await b.call('DELETE', 'sys/generate-root/attempt', undefined, { token: root });
  const nonce = (await must(put(b, 'sys/generate-root/attempt', {}))).textAt('nonce');
  const replies: Reply[] = [];
  for (const key of shares.slice(0, 2)) {
    replies.push(await put(b, 'sys/generate-root/update', { key, nonce }));
    // New shares end an attempt that began under the former ones.
    if (/start over/.test(replies.at(-1)?.text ?? '')) return authorise({ b, root }, shares);
  }
  return replies.at(-1)?.field('complete') === true;
}
