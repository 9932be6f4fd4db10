import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../../src/store/columns.ts';
import { eachPlace, type Place } from './engines.ts';
import { CommitHolder } from './held-commit.ts';
import { TransactionHolder } from './held-transaction.ts';
import { newDirectory } from './node-process.ts';
import { configAt } from './placed-server.ts';
import { type Client, callOver, type Reply, startTestServer } from './server.ts';

type Call = Client['call'];

/** Two servers over one database on PostgreSQL, the same one twice on SQLite. */
export interface Bench {
  /** Makes; its commits can be held. */
  maker: Client;
  /** Removes. */
  remover: Client;
  holder: CommitHolder;
  /** Holds the maker's transactions, with two of them; undefined where only one can be open. */
  transactions: TransactionHolder | undefined;
  /** A number that nothing else on the bench was named by. */
  next(): number;
}

/** What a table looks at whatever makes the thing. */
export type Outcome = Pick<Reply, 'status' | 'text'>;

/** Something that is made, and what it stands on. */
export interface Race<Made extends Outcome = Reply> {
  /** The path of the request that makes it, as its record has it. */
  path: string;
  make(): Promise<Made>;
  remove(): Promise<Reply>;
  /** What was made before the removal has ended by it. */
  ended?(made: Made): Promise<void>;
  /** What there is, or is not, when the maker was refused. */
  left?(): Promise<void>;
}

export interface RaceCase<Made extends Outcome = Reply> {
  name: string;
  /** Statuses that refuse the maker once the other was quicker. */
  refused: readonly number[];
  /** What is answered once the other was quicker, where that is no refusal. */
  judge?(made: Made): void;
  setUp(bench: Bench): Promise<Race<Made>>;
}

/** What is handed out and must not be. */
const SECRETS = /BEGIN|hvs\.|at_\w+_s1|authorization_token/;

/**
 * Runs each case in both orders, on each engine, and with both transactions open at once where there
 * can be two.
 */
export function raceAll<Made extends Outcome = Reply>(
  name: string,
  cases: readonly RaceCase<Made>[],
): void {
  eachBench(name, (testOn, engine) => {
    for (const { name, refused, judge, setUp } of cases) {
      testOn(`${name}: removed between plan and commit, nothing is made`, async (bench) => {
        const race = await ready(bench, setUp);
        const held = bench.holder.hold(race.path);
        const making = race.make();
        const reply = await Promise.race([held.reached, making]);
        assert.equal(reply, undefined, `was to write: ${reply?.text}`);
        // A request that is held for ever would keep its server from stopping.
        const removed = await race.remove().finally(held.letGo);
        const made = await making;
        assert.ok(removed.status < 300, `${removed.status} ${removed.text}`);
        if (judge) return judge(made);
        assert.ok(refused.includes(made.status), `${made.status} ${made.text}`);
        assert.doesNotMatch(made.text, SECRETS);
        await race.left?.();
      });

      testOn(`${name}: what was made before ends with it`, async (bench) => {
        const race = await ready(bench, setUp);
        const made = await race.make();
        assert.ok(made.status < 300, `${made.status} ${made.text}`);
        const removed = await race.remove();
        assert.ok(removed.status < 300, `${removed.status} ${removed.text}`);
        await race.ended?.(made);
      });

      if (engine === 'sqlite') continue;
      testOn(`${name}: at once, nothing is made or it ends`, async (bench) => {
        const race = await ready(bench, setUp);
        const [made, removed] = await overlap(bench, race);
        assert.ok(removed.status < 300, `${removed.status} ${removed.text}`);
        if (made.status < 300) return race.ended?.(made);
        assert.ok(refused.includes(made.status), `${made.status} ${made.text}`);
        assert.doesNotMatch(made.text, SECRETS);
        await race.left?.();
      });
    }
  });
}

/** The maker has written everything and is about to commit when the remover comes. */
async function overlap<Made extends Outcome>(
  { transactions, holder }: Bench,
  race: Pick<Race<Made>, 'path' | 'make' | 'remove'>,
): Promise<[Made, Reply]> {
  assert.ok(transactions, 'two nodes');
  await transactions.hold('a');
  const held = holder.hold(race.path);
  try {
    const making = watched(race.make());
    // What its node waits with may be a record of something read before: the maker has decided first.
    await Promise.race([held.reached, making.result]);
    held.letGo();
    await transactions.untilWaiting('a', making.isDone);
    const removing = watched(race.remove());
    await transactions.untilWaiting('b', removing.isDone);
    await transactions.letGo();
    return await Promise.all([making.result, removing.result]);
  } finally {
    // No harm where they were let go before.
    held.letGo();
    await transactions.letGo();
  }
}

function watched<T>(result: Promise<T>): { result: Promise<T>; isDone(): boolean } {
  let done = false;
  const finish = (): void => {
    done = true;
  };
  result.then(finish, finish);
  return { result, isDone: () => done };
}

/** Sets something up, which both nodes know then. */
async function ready<Case>(bench: Bench, setUp: (bench: Bench) => Promise<Case>): Promise<Case> {
  const made = await setUp(bench);
  if (bench.maker !== bench.remover) await learn(bench.remover);
  return made;
}

/** A node that has itself written goes by all that others have. */
async function learn(node: Bench['maker']): Promise<void> {
  await must(node.call('PUT', 'sys/policies/acl/known', { policy: 'path "nothing" {}' }));
}

/** One of two requests that change the same things. */
export interface Contender {
  method: string;
  path: string;
  body?: object;
  /** Who sends it; root unless given. */
  token?: string;
}

/** Two requests, and what has to be true of what they leave. */
export interface Contest {
  one: Contender;
  other: Contender;
  /** Whoever comes too late is answered with 500, as clients know it of what is not there. */
  unresolved?: true;
  /** On one server the second waits for the first: what they end is ended by one of them. */
  in_line?: boolean;
  /** Reads what is there once both were answered. */
  judge(answers: { quicker: Answered; slower: Answered }): Promise<void>;
}

export interface Answered {
  by: Contender;
  reply: Reply;
}

export interface ContestCase {
  name: string;
  setUp(bench: Bench): Promise<Contest>;
}

/**
 * Runs each pair twice, on each engine: either is done while the other one is about to write; and with
 * both transactions open at once where there can be two.
 */
export function contestAll(name: string, cases: readonly ContestCase[]): void {
  eachBench(name, (testOn, engine) => {
    for (const { name, setUp } of cases) {
      for (const late of ['one', 'other'] as const) {
        const slower = late === 'one' ? 'the first' : 'the second';
        testOn(`${name}: ${slower} is slower`, async (bench) => {
          const { one, other, unresolved, in_line, judge } = await ready(bench, setUp);
          const run = in_line && engine === 'sqlite' ? standInLine : contend;
          const answers = await run(bench, late === 'one' ? [one, other] : [other, one]);
          refuseMistake(answers, unresolved);
          await judge(answers);
        });

        if (engine === 'sqlite') continue;
        testOn(`${name}: at once, ${slower} waits`, async (bench) => {
          const { one, other, unresolved, judge } = await ready(bench, setUp);
          const [early, waits] = late === 'one' ? [other, one] : [one, other];
          const [first, second] = await overlap(bench, {
            path: early.path,
            make: () => send(bench.maker, early),
            remove: () => send(bench.remover, waits),
          });
          // It reads what is left, and its own change may have been the earlier one.
          await learn(bench.maker);
          const [a, b] = [
            { by: early, reply: first },
            { by: waits, reply: second },
          ];
          // Nobody sees who was quicker: it is enough that one of the two explains what is left.
          const faults: unknown[] = [];
          for (const [quicker, slower] of [
            [a, b],
            [b, a],
          ] as const) {
            try {
              refuseMistake({ quicker, slower }, unresolved);
              await judge({ quicker, slower });
              return;
            } catch (fault) {
              faults.push(fault);
            }
          }
          throw new AggregateError(faults, `neither order explains it: ${faults.join('; ')}`);
        });
      }
    }
  });
}

/** A request, and what others change while it is under way. */
export interface Pressed {
  request: Contender;
  /** Whatever changes what is permitted; a group of somebody else's unless given. */
  change?(attempt: number): Contender;
  /** What is to be seen of the answer, where it is not that all was done. */
  judge?(answered: { reply: Reply; attempts: number }): void;
}

export interface PressedCase {
  name: string;
  setUp(bench: Bench): Promise<Pressed>;
}

/** Milliseconds for a change of others to be done, on any machine; those that wait take longer. */
const QUICK_MS = 150;
/** An attempt or two are lost before others wait, and one to whoever was writing by then. */
const FEW_ATTEMPTS = 5;

/** Runs each request while others change what is permitted whenever it is about to write. */
export function pressAll(name: string, cases: readonly PressedCase[]): void {
  eachBench(name, (testOn) => {
    for (const { name, setUp } of cases) {
      testOn(name, async (bench) => {
        const { request, change, judge } = await ready(bench, setUp);
        const others = `others-${bench.next()}`;
        const changes: Promise<Reply>[] = [];
        const release = bench.holder.press(request.path, async (attempt) => {
          const path = `identity/group/name/${others}`;
          const body = { metadata: { attempt: String(attempt) } };
          const by = change?.(attempt) ?? { method: 'POST', path, body };
          const changed = send(bench.remover, by);
          changes.push(changed);
          await Promise.race([changed, delay(QUICK_MS)]);
        });
        const reply = await send(bench.maker, request).catch((error: unknown) => {
          release();
          throw error;
        });
        const attempts = release();
        for (const changed of changes) await must(changed);
        if (judge) return judge({ reply, attempts });
        assert.ok(reply.status < 300, `${reply.status} ${reply.text}`);
        assert.ok(attempts > 1, 'nobody was quicker');
        assert.ok(attempts <= FEW_ATTEMPTS, `${attempts} attempts`);
      });
    }
  });
}

/** Whoever was quicker is granted what they want, and the other one met no mistake of the server's. */
function refuseMistake(
  { quicker, slower }: { quicker: Answered; slower: Answered },
  unresolved: boolean | undefined,
): void {
  assert.ok(quicker.reply.status < 300, `${quicker.reply.status} ${quicker.reply.text}`);
  assert.ok(unresolved || slower.reply.status !== 500, slower.reply.text);
}

/** Lets a request decide, and come to where it writes. */
async function heldAtWrite({ maker, holder }: Bench, late: Contender) {
  const held = holder.hold(late.path);
  const writing = send(maker, late);
  const reply = await Promise.race([held.reached, writing]);
  assert.equal(reply, undefined, `was to write: ${reply?.text}`);
  return { writing, letGo: held.letGo };
}

/** Lets one request decide, then the other one come and wait for it, then the first one write. */
async function standInLine(
  bench: Bench,
  [first, next]: readonly [Contender, Contender],
): Promise<{ quicker: Answered; slower: Answered }> {
  const { writing, letGo } = await heldAtWrite(bench, first);
  const waiting = watched(send(bench.remover, next));
  await delay(QUICK_MS);
  assert.equal(waiting.isDone(), false, 'did not wait');
  letGo();
  const [quicker, slower] = await Promise.all([writing, waiting.result]);
  return { quicker: { by: first, reply: quicker }, slower: { by: next, reply: slower } };
}

/** Lets one request decide, then the other one be done, then the first one write. */
async function contend(
  bench: Bench,
  [late, early]: readonly [Contender, Contender],
): Promise<{ quicker: Answered; slower: Answered }> {
  const { remover } = bench;
  const held = await heldAtWrite(bench, late);
  const { writing } = held;
  const done = await send(remover, early).finally(held.letGo);
  return { quicker: { by: early, reply: done }, slower: { by: late, reply: await writing } };
}

const send = ({ call }: Client, { method, path, body, token }: Contender): Promise<Reply> =>
  call(method, path, body, token === undefined ? {} : { token });

/** Declares a test on the bench. */
type TestOn = (name: string, run: (bench: Bench) => Promise<void>) => void;

/** Declares tests once for each engine, on a bench that they share there. */
function eachBench(name: string, declare: (testOn: TestOn, engine: Engine) => void): void {
  eachPlace(name, (newPlace, engine) => {
    let bench: Bench;
    const stops: (() => Promise<void>)[] = [];
    before(async () => {
      bench = await openBench(await newPlace(), (stop) => stops.push(stop));
    });
    after(async () => {
      for (const stop of stops.reverse()) await stop();
    });
    declare((name, run) => test(name, () => run(bench)), engine);
  });
}

async function openBench(
  place: Place,
  onStop: (stop: () => Promise<void>) => void,
): Promise<Bench> {
  const scope = { after: onStop };
  const directory = newDirectory(scope);
  const holder = new CommitHolder();
  const start = async (node_name: string, store?: CommitHolder['over']): Promise<Client> => {
    const config = configAt(place, directory, { node_name });
    return startTestServer(scope, { config, ...(store ? { store } : {}) });
  };
  const a = await start('a', holder.over);
  const made = await a.call('PUT', 'sys/init', {}, { token: '' });
  const root = made.textAt('root_token');
  assert.notEqual(root, '', made.text);
  const asRoot = (client: Client): Client => ({ ...client, call: callOver(client.url, root) });
  const maker = asRoot(a);
  const options = place.options();
  const two = options.engine === 'postgres';
  const remover = two ? asRoot(await start('b')) : maker;
  const transactions = two ? await TransactionHolder.open(options.url) : undefined;
  if (transactions) onStop(() => transactions.close());
  let count = 0;
  return { maker, remover, holder, transactions, next: () => ++count };
}

/** A request that has to be granted. */
export async function must(answer: Promise<Reply>): Promise<Reply> {
  const reply = await answer;
  assert.ok(reply.status < 300, `${reply.status} ${reply.text}`);
  return reply;
}

/** The calls of somebody with a token. */
export const callAs =
  (call: Call, token: string) =>
  (method: string, path: string, body?: unknown): Promise<Reply> =>
    call(method, path, body, { token });
