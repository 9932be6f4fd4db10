import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller, testMount } from '../../test/support/app.ts';
import { eachEngine } from '../../test/support/engines.ts';
import type { App } from '../app/app.ts';
import { Failure } from '../core/failure.ts';
import type { Dialect, FramedRoute, Stages } from './dialect.ts';
import { handlerOf } from './frame.ts';
import type { HttpRequest } from './request.ts';

const ROUTE: FramedRoute = { id: 'echo', method: 'POST', path: '/echo', access: 'public' };

const REQUEST: HttpRequest = {
  method: 'POST',
  url: '/echo',
  headers: {},
  raw_headers: [],
  remote_address: '192.0.2.1',
  readBody: async () => new Uint8Array(0),
  hasCome: () => true,
  keep: () => {},
};

type Step = Exclude<
  keyof Dialect<Stages>,
  | 'accepts'
  | 'isForAny'
  | 'sealed'
  | 'listCredentials'
  | 'encodeFailure'
  | 'encodeFault'
  | 'rescue'
  | 'bearerOf'
>;

const STEPS: readonly Step[] = [
  'greet',
  'find',
  'requireHead',
  'findCredentials',
  'takeQuota',
  'identify',
  'requirePossible',
  'read',
  'permit',
  'run',
  'encode',
];

/** A dialect of one endpoint, which answers in a form of its own. */
function echo({ at = () => {}, route = ROUTE }: { at?(step: Step): void; route?: FramedRoute }) {
  const steps: Step[] = [];
  const go = <Result>(step: Step, result: Result): Result => {
    steps.push(step);
    at(step);
    return result;
  };
  const caller = testCaller(testMount({ kind: 'secret', path: 'echo/', type: 'echo' }));
  const text = (status: number, body: string) => ({ status, headers: {}, body });
  const dialect: Dialect<Stages> = {
    accepts: (target) => target.startsWith('/echo'),
    sealed: 'closed',
    greet: () => go('greet', { headers: { 'x-echo': 'yes' } }),
    find: (_app, { trace }) => {
      trace.record.operation = 'update';
      trace.route = route;
      return go('find', { route });
    },
    isForAny: () => true,
    requireHead: () => go('requireHead', undefined),
    findCredentials: () => go('findCredentials', { text: '', living: undefined }),
    takeQuota: (_app, { headers }) => {
      headers['x-left'] = '9';
      return go('takeQuota', undefined);
    },
    identify: async () => go('identify', 'somebody'),
    requirePossible: async () => go('requirePossible', 'possible'),
    read: async () => go('read', 'hello'),
    permit: async () => go('permit', { caller, route }),
    run: async () => go('run', 'hello'),
    encode: () => go('encode', text(200, 'hello')),
    listCredentials: () => [],
    encodeFailure: (error) =>
      error instanceof Failure ? text(418, `no: ${error.message}`) : undefined,
    encodeFault: ({ status, because }) => text(status, because),
  };
  return { dialect, steps };
}

/** What the audit trail is told of requests that nobody known has sent. */
function watchRefusals(app: App): string[] {
  const told: string[] = [];
  const { refuse } = app.audit;
  app.audit.refuse = (facts, end) => {
    told.push(end.error ?? end.status);
    refuse.call(app.audit, facts, end);
  };
  return told;
}

eachEngine('the frame', (open) => {
  test('a body that comes while it is found out who sends it has not come before that', async () => {
    const { app } = await openTestApp(await open());
    for (const cameFirst of [false, true]) {
      let isThere = cameFirst;
      const { dialect } = echo({});
      const had: boolean[] = [];
      const answer = await handlerOf(app, {
        ...dialect,
        identify: async () => {
          isThere = true;
        },
        read: async (_app, { has_come }) => void had.push(has_come),
      }).handle({ ...REQUEST, hasCome: () => isThere });
      assert.equal(answer.status, 200);
      assert.deepEqual(had, [cameFirst]);
    }
  });

  test('every step of a dialect is taken once, in order, and what was done is recorded', async () => {
    const { app } = await openTestApp(await open());
    const told = watchRefusals(app);
    const { dialect, steps } = echo({});
    const answer = await handlerOf(app, dialect).handle(REQUEST);
    assert.deepEqual(steps, STEPS);
    const headers = { 'x-left': '9', 'x-echo': 'yes' };
    assert.deepEqual(answer, { status: 200, headers, body: 'hello' });
    assert.deepEqual(told, ['done']);
  });

  for (const [at, step] of STEPS.entries()) {
    if (step === 'greet') continue;
    test(`what is refused at ${step} goes no further, and is recorded`, async () => {
      const { app } = await openTestApp(await open());
      const told = watchRefusals(app);
      const { dialect, steps } = echo({
        at: (taken) => {
          if (taken === step) throw new Failure('forbidden', 'not you');
        },
      });
      const answer = await handlerOf(app, dialect).handle(REQUEST);
      assert.deepEqual(steps, STEPS.slice(0, at + 1));
      assert.equal(answer.body, 'no: not you');
      assert.equal(answer.headers['x-echo'], 'yes');
      assert.deepEqual(told, ['not you']);
    });
  }

  test('of a bug a client is told no more than where to look', async () => {
    const { app } = await openTestApp(await open());
    const { dialect } = echo({
      at: (step) => {
        if (step === 'run') throw new Error('secret');
      },
    });
    const answer = await handlerOf(app, dialect).handle(REQUEST);
    assert.equal(answer.status, 500);
    assert.match(String(answer.body), /^internal error, see the server's log for request [\w-]+$/);
  });

  test('one request too many is answered as the dialect says, and nobody is looked for', async () => {
    const { app } = await openTestApp(await open());
    const told = watchRefusals(app);
    const { dialect, steps } = echo({});
    dialect.takeQuota = () => ({ status: 429, headers: {}, body: 'later' });
    const answer = await handlerOf(app, dialect).handle(REQUEST);
    assert.equal(answer.body, 'later');
    assert.deepEqual(steps, STEPS.slice(0, STEPS.indexOf('takeQuota')));
    assert.equal(told.length, 1);
  });

  const sealings: [route: FramedRoute, when: Step | undefined, body: string, why: string][] = [
    [ROUTE, undefined, 'no: closed', 'what comes to a sealed server is refused'],
    [{ ...ROUTE, while_sealed: true }, undefined, 'hello', 'but what it answers all the same'],
    [ROUTE, 'run', 'no: closed', 'what was begun before a sealing is not answered after it'],
    [{ ...ROUTE, seals: true }, 'run', 'hello', 'but the sealing itself'],
    [{ ...ROUTE, seals: true }, undefined, 'no: closed', 'which a sealed server refuses'],
  ];
  for (const [route, when, body, why] of sealings) {
    test(why, async () => {
      const { app } = await openTestApp(await open());
      const { dialect } = echo({
        route,
        at: (step) => {
          if (step === when) app.barrier.seal();
        },
      });
      if (when === undefined) app.barrier.seal();
      const answer = await handlerOf(app, dialect).handle(REQUEST);
      assert.equal(answer.body, body);
    });
  }
});
