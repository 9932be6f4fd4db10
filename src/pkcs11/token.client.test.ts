/** What is asked of a module whose token is taken away, made anew, or does not take a PIN. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CKA, CKK, CKO, TOKEN_FLAGS } from './constants.ts';
import { type Order, type Refusal, RefusedOrder } from './orders.ts';
import { ulong } from './structures.ts';
import { type Module, Tokens } from './token.client.ts';

interface Script {
  /** What was called, in order. */
  calls: string[];
  /** Handles that each label has now. */
  handles: Record<string, bigint[]>;
  /** Those that open data, and sign. */
  opening: bigint[];
  flags: bigint;
  pin: string;
  /** Functions that answer a refusal, once. */
  fails: Partial<Record<keyof Module, Refusal>>;
}

interface Half {
  object_class: number;
  id: number;
  handle: bigint;
}

/** The functions that look for keys, of a token with halves of pairs that all bear one label; of EC, their points are their handles. */
function withHalves(halves: readonly Half[]): Pick<Module, 'findObjects' | 'readAttribute'> {
  return {
    findObjects: (_session, attributes) => {
      const wanted = (type: number) => attributes.find((one) => one.type === type)?.value;
      const [object_class] = wanted(CKA.CLASS) ?? [];
      const id = wanted(CKA.ID);
      return halves
        .filter((one) => one.object_class === object_class && (!id || one.id === id[0]))
        .map(({ handle }) => handle);
    },
    readAttribute: (_session, object, type) => {
      const half = halves.find(({ handle }) => handle === object);
      if (type === CKA.ID) return half && half.id > 0 ? Buffer.of(half.id) : Buffer.alloc(0);
      return type === CKA.KEY_TYPE ? ulong(BigInt(CKK.EC)) : Buffer.of(Number(object));
    },
  };
}

/** A module with one token, which does what the script says. */
function openScript(more: Partial<Module> = {}): { script: Script; tokens: Tokens } {
  const script: Script = {
    calls: [],
    handles: { key: [7n] },
    flags: 0n,
    pin: '1234',
    fails: {},
    opening: [],
  };
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
      call('findObjects');
      return script.handles[Buffer.from(label).toString()] ?? [];
    },
    readAttribute: (_session, object, type) =>
      type === CKA.ID && object > 7n ? Buffer.of(Number(object)) : undefined,
    generateKeyPair: (_session, _mechanism, { public_key, private_key }) => {
      const [one, other] = [public_key, private_key].map(
        (half) => half.find(({ type }) => type === CKA.ID)?.value ?? [],
      );
      call(
        'generateKeyPair',
        `${one?.length} ${Buffer.from(one ?? []).equals(Buffer.from(other ?? []))}`,
      );
    },
    generateKey: (_session, _mechanism, template) => {
      call('generateKey', template.find(({ type }) => type === CKA.ID)?.value.length);
    },
    process: (what, { key }) => {
      call('process', key);
      if (what === 'Decrypt' && !script.opening.includes(key)) {
        throw new RefusedOrder('lost', 'C_Decrypt answered CKR_GENERAL_ERROR');
      }
      return Uint8Array.of(Number(key));
    },
    ...more,
  };
  return { script, tokens: new Tokens(module) };
}

const sign = (anew?: number, pin = '1234'): Order => ({
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
  script.handles.key = [8n];
  assert.deepEqual(tokens.carryOut(sign()), { type: 'bytes', bytes: Uint8Array.of(7), more: true });
  assert.deepEqual(tokens.carryOut(sign(0)), {
    ...{ type: 'bytes', bytes: Uint8Array.of(8), more: false },
  });
  assert.deepEqual(tokens.carryOut(sign()), {
    ...{ type: 'bytes', bytes: Uint8Array.of(8), more: true },
  });
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
  assert.throws(() => tokens.carryOut(sign(undefined, 'no')), { refusal: 'pin' });
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
  assert.throws(() => tokens.carryOut(sign(undefined, 'no')), { refusal: 'pin' });
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
    assert.ok(!script.calls.some((one) => one.startsWith(made)));
  });

  test(`${kind}: what the token does not have is made, with an id of its own unless it was given one`, () => {
    const { script, tokens } = openScript();
    const same = kind === 'make pair' ? ' true' : '';
    tokens.carryOut(make('other'));
    tokens.carryOut({ ...make('other'), key: { label: 'other', id: Uint8Array.of(1) } } as Order);
    const calls = script.calls.filter((one) => one.startsWith(made));
    assert.deepEqual(calls, [`${made} 16${same}`, `${made} 1${same}`]);
  });

  test(`${kind}: two that were made at once are told with their ids, and neither is used`, () => {
    const { script, tokens } = openScript();
    script.handles.key = [7n, 8n];
    assert.throws(() => tokens.carryOut(make('key')), {
      refusal: 'key',
      message: /several keys of that label or id \(CKA_ID: none, 0x08\)/,
    });
    assert.ok(!script.calls.some((one) => one.startsWith(made) || one.startsWith('process')));
  });
}

test('of several keys of one name each is tried in turn by who asks anew, and the last one kept', () => {
  const { script, tokens } = openScript();
  script.handles.key = [7n, 8n];
  const tried = [undefined, 0, 1].map((anew) => tokens.carryOut(sign(anew)));
  assert.deepEqual(tried, [
    { type: 'bytes', bytes: Uint8Array.of(7), more: true },
    { type: 'bytes', bytes: Uint8Array.of(7), more: true },
    { type: 'bytes', bytes: Uint8Array.of(8), more: false },
  ]);
  script.calls.length = 0;
  tokens.carryOut(sign());
  assert.deepEqual(script.calls, ['process 8']);
  assert.throws(() => tokens.carryOut(sign(2)), { refusal: 'lost' });
});

test('of several keys of one name, one that cannot sign like this is passed over', () => {
  const { script, tokens } = openScript();
  script.handles.key = [7n, 8n];
  for (const [anew, more] of [
    [undefined, true],
    [0, true],
    [1, false],
    [undefined, true],
  ] as const) {
    script.fails.process = 'mechanism';
    const bytes = new Uint8Array();
    assert.deepEqual(tokens.carryOut(sign(anew)), { type: 'bytes', bytes, more });
  }
  script.fails.process = 'lost';
  assert.throws(() => tokens.carryOut(sign(0)), { refusal: 'lost' });
});

test('that the only key of a name cannot sign like this is told', () => {
  const { script, tokens } = openScript();
  for (const anew of [undefined, 0]) {
    script.fails.process = 'mechanism';
    assert.throws(() => tokens.carryOut(sign(anew)), { refusal: 'mechanism' });
  }
});

const cipher = (kind: 'encrypt' | 'decrypt'): Order => ({
  ...{ kind, token: { token_label: 'a', pin: '1234' }, key: { label: 'key' } },
  ...{ gcm: { iv: new Uint8Array(12), aad: new Uint8Array() }, data: Uint8Array.of(1) },
});

for (const [handles, opening, opened] of [
  [[7n], [7n], 7],
  [[7n, 8n], [7n], 7],
  [[7n, 8n, 9n], [8n], 8],
  [[7n], [], undefined],
  [[7n, 8n], [9n], undefined],
  [[], [7n], undefined],
] as [bigint[], bigint[], number | undefined][]) {
  test(`of the keys ${handles.join()}, of which ${opening.join() || 'none'} opens, ${opened ?? 'none'} decrypts`, () => {
    const { script, tokens } = openScript();
    script.handles.key = handles;
    script.opening = opening;
    if (opened === undefined) {
      assert.throws(() => tokens.carryOut(cipher('decrypt')), { refusal: 'lost' });
    } else {
      const bytes = Uint8Array.of(opened);
      assert.deepEqual(tokens.carryOut(cipher('decrypt')), { type: 'bytes', bytes });
    }
  });
}

test('nothing is encrypted by one of several keys of one name', () => {
  const { script, tokens } = openScript();
  tokens.carryOut(cipher('encrypt'));
  script.handles.key = [7n, 8n];
  assert.throws(() => tokens.carryOut(cipher('encrypt')), { refusal: 'key' });
});

const secretHalf = { object_class: CKO.PRIVATE_KEY, id: 1, handle: 10n };
const open = (id: number, handle: bigint): Half => ({ object_class: CKO.PUBLIC_KEY, id, handle });
const halves: [what: string, halves: Half[], point: number | undefined][] = [
  ['its public half', [secretHalf, open(1, 11n)], 11],
  ['its public half beside what is left of another', [secretHalf, open(2, 12n), open(1, 11n)], 11],
  ['a public half of another id alone', [secretHalf, open(2, 12n)], 12],
  ['no public half', [secretHalf], 10],
  ['public halves of other ids', [secretHalf, open(2, 12n), open(3, 13n)], undefined],
  ['no ids', [{ ...secretHalf, id: 0 }, open(0, 11n)], 11],
];
for (const [what, all, point] of halves) {
  test(`a private key with ${what} is ${point === undefined ? 'not told' : `the one of point ${point}`}`, () => {
    const { tokens } = openScript(withHalves(all));
    const find: Order = {
      ...{ kind: 'find pair', token: { token_label: 'a', pin: '1234' }, key: { label: 'key' } },
    };
    if (point === undefined) assert.throws(() => tokens.carryOut(find), { refusal: 'key' });
    else {
      const told = tokens.carryOut(find);
      assert.ok(told.type === 'pair' && told.pair?.key_type === 'ec');
      assert.deepEqual([...told.pair.ecPoint], [point]);
    }
  });
}
