/** What is asked of a module whose token is taken away, made anew, or does not take a PIN. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CKA, TOKEN_FLAGS } from './constants.ts';
import { type Order, type Refusal, RefusedOrder } from './orders.ts';
import { type Module, Tokens } from './token.client.ts';

interface Script {
  /** What was called, in order. */
  calls: string[];
  /** Handle that each label has now. */
  handles: Record<string, bigint>;
  flags: bigint;
  pin: string;
  /** Functions that answer a refusal, once. */
  fails: Partial<Record<keyof Module, Refusal>>;
}

/** A module with one token, which does what the script says. */
function openScript(): { script: Script; tokens: Tokens } {
  const script: Script = { calls: [], handles: { key: 7n }, flags: 0n, pin: '1234', fails: {} };
  const call = (name: keyof Module, what: unknown = ''): void => {
    script.calls.push(`${name} ${what}`.trim());
    const refusal = script.fails[name];
    delete script.fails[name];
    if (refusal) throw new RefusedOrder(refusal, `${name} was refused`);
  };
  const module: Module = {
    listTokens: () => [{ slot: 3n, label: 'a' }],
    readTokenFlags: () => script.flags,
    openSession: (slot) => {
      call('openSession', slot);
      return 11n;
    },
    closeSessions: (slot) => call('closeSessions', slot),
    login: (_session, pin) => {
      call('login');
      if (pin !== script.pin) throw new RefusedOrder('pin', 'C_Login answered CKR_PIN_INCORRECT');
    },
    logout: () => call('logout'),
    findObjects: (_session, attributes) => {
      const label = attributes.find(({ type }) => type === CKA.LABEL)?.value ?? [];
      const handle = script.handles[Buffer.from(label).toString()];
      call('findObjects');
      return handle === undefined ? [] : [handle];
    },
    readAttribute: () => undefined,
    generateKeyPair: () => call('generateKeyPair'),
    generateKey: () => call('generateKey'),
    process: (_what, { key }) => {
      call('process', key);
      return Uint8Array.of(Number(key));
    },
  };
  return { script, tokens: new Tokens(module) };
}

const sign = (anew = false, pin = '1234'): Order => ({
  ...{ kind: 'sign', token: { token_label: 'a', pin }, key: { label: 'key' } },
  ...{ mechanism: { name: 'EDDSA' }, data: Uint8Array.of(1), anew },
});

test('a token is logged in to once, and its key looked for once', () => {
  const { script, tokens } = openScript();
  for (const _time of [1, 2]) tokens.carryOut(sign());
  assert.deepEqual(script.calls, [
    ...['openSession 3', 'login', 'findObjects', 'process 7'],
    'process 7',
  ]);
});

test('a key that is another object by now is found by who asks anew', () => {
  const { script, tokens } = openScript();
  tokens.carryOut(sign());
  script.handles.key = 8n;
  assert.deepEqual(tokens.carryOut(sign()), { type: 'bytes', bytes: Uint8Array.of(7) });
  assert.deepEqual(tokens.carryOut(sign(true)), { type: 'bytes', bytes: Uint8Array.of(8) });
  assert.deepEqual(tokens.carryOut(sign()), { type: 'bytes', bytes: Uint8Array.of(8) });
});

test('a session, log-in or object that is gone is told as lost, without another log-in', () => {
  for (const name of ['process', 'findObjects', 'openSession'] as const) {
    const { script, tokens } = openScript();
    script.fails[name] = 'lost';
    assert.throws(() => tokens.carryOut(sign()), { refusal: 'lost' });
    assert.ok(script.calls.filter((one) => one === 'login').length <= 1, name);
  }
});

test('a PIN that the token refuses is tried once, and its session closed', () => {
  const { script, tokens } = openScript();
  assert.throws(() => tokens.carryOut(sign(false, 'no')), { refusal: 'pin' });
  assert.deepEqual(script.calls, ['openSession 3', 'login', 'closeSessions 3']);
});

for (const [what, flag, phrase] of [
  ['its last try', TOKEN_FLAGS.USER_PIN_FINAL_TRY, /locks the token/],
  ['a locked PIN', TOKEN_FLAGS.USER_PIN_LOCKED, /is locked/],
] as const) {
  test(`a token with ${what} is not logged in to, and works once that is mended`, () => {
    const { script, tokens } = openScript();
    script.flags = flag;
    for (const _time of [1, 2]) {
      assert.throws(() => tokens.carryOut(sign()), { refusal: 'token', message: phrase });
    }
    assert.deepEqual(script.calls, []);
    script.flags = 0n;
    tokens.carryOut(sign());
  });
}

test('another PIN logs out who was logged in first, and counts only when the token takes it', () => {
  const { script, tokens } = openScript();
  tokens.carryOut(sign());
  script.calls.length = 0;
  assert.throws(() => tokens.carryOut(sign(false, 'no')), { refusal: 'pin' });
  assert.deepEqual(script.calls, [
    ...['logout', 'closeSessions 3', 'openSession 3', 'login', 'closeSessions 3'],
  ]);
});

const wanted = { key_type: 'ed25519' } as const;
for (const kind of ['make pair', 'make secret'] as const) {
  const make = (label: string): Order => ({
    ...{ token: { token_label: 'a', pin: '1234' }, key: { label } },
    ...(kind === 'make pair' ? { kind, wanted } : { kind }),
  });
  const made = kind === 'make pair' ? 'generateKeyPair' : 'generateKey';

  test(`${kind}: what the token has by now is not made once more`, () => {
    const { script, tokens } = openScript();
    // The script tells nothing of what it has.
    if (kind === 'make pair') assert.throws(() => tokens.carryOut(make('key')), { refusal: 'key' });
    else tokens.carryOut(make('key'));
    assert.ok(!script.calls.includes(made));
  });

  test(`${kind}: what the token does not have is made`, () => {
    const { script, tokens } = openScript();
    tokens.carryOut(make('other'));
    assert.ok(script.calls.includes(made));
  });
}
