import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { SshPeer } from '../../../test/support/ssh-peer.ts';
import { streamPair } from '../../../test/support/stream-pair.ts';
import type { SshLogin } from '../../broker/sessions/credentials/ssh-login.ts';
import { certificateType, makeCertificate } from '../../ssh/certificate.ts';
import { encodePublicKey, encodeSshPublicKey, parsePublicKey } from '../../ssh/public-key.ts';
import { verifySsh } from '../../ssh/signature.ts';
import {
  encodeBoolean,
  encodeNames,
  encodeString,
  encodeUint32,
  WireReader,
} from '../../ssh/wire.ts';
import { type ProxyEnd, proxySsh } from './proxy.ts';
import { receiveClient } from './reception.ts';
import { MESSAGE } from './transport/messages.ts';
import { SshTransport } from './transport/transport.ts';
import type { SessionWatcher } from './watching.ts';

const host = generateKeyPairSync('ed25519');
const user = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pkcs8 = user.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64');
const PASSWORD = 'Only-For-Tests';

const message = (number: number, ...fields: Buffer[]): Buffer =>
  Buffer.concat([Buffer.of(number), ...fields]);

/** An endpoint's answer to one request of a log-in; false: nothing more comes. */
type Answering = (method: string, read: WireReader, endpoint: SshTransport) => Promise<boolean>;

interface Talk {
  client: SshTransport;
  endpoint: SshTransport;
  /** What the endpoint speaks over. */
  endpointStream: Duplex;
  end: Promise<ProxyEnd>;
  /** Once the client was let in. */
  ready: Promise<void>;
  users: string[];
}

/** @param first of the client, in place of what begins a log-in */
function talk(
  logins: SshLogin[],
  answering: Answering,
  watcher?: SessionWatcher,
  first = message(MESSAGE.SERVICE_REQUEST, encodeString('ssh-userauth')),
): Talk {
  const [ours, theirs] = streamPair();
  const [near, far] = streamPair();
  const host_key = { key: host.privateKey, public_key: encodePublicKey(host.publicKey) };
  const endpoint = new SshTransport(far, { role: 'server', host_key }, ['ssh-ed25519']);
  const client = new SshTransport(ours, { role: 'client', judge: () => ({ trusted: true }) }, [
    'ssh-ed25519',
  ]);
  const end = proxySsh(
    { client: theirs, endpoint: near, name: 'host' },
    {
      logins,
      host_keys: [encodeSshPublicKey(host.publicKey)],
      host_ca_keys: [],
      worker_key: randomBytes(32).toString('base64'),
    },
    watcher,
  );
  const users: string[] = [];
  const serve = async (): Promise<void> => {
    await endpoint.start();
    for (let next = await endpoint.receive(); next; next = await endpoint.receive()) {
      if (next[0] === MESSAGE.SERVICE_REQUEST) {
        await endpoint.send(message(MESSAGE.SERVICE_ACCEPT, encodeString('ssh-userauth')));
        continue;
      }
      const read = new WireReader(next.subarray(1));
      let method = 'answer';
      if (next[0] === MESSAGE.USERAUTH_REQUEST) {
        users.push(read.name());
        read.name();
        method = read.name();
      }
      if (!(await answering(method, read, endpoint))) return;
    }
  };
  void serve().catch(() => {});
  const enter = async (): Promise<void> => {
    await client.start();
    await client.send(first);
    if (!(await client.receive())) throw new Error(client.farewell);
    const names = ['anybody', 'ssh-connection', 'none'].map((name) => encodeString(name));
    await client.send(message(MESSAGE.USERAUTH_REQUEST, ...names));
    const answer = await client.receive();
    if (answer?.[0] !== MESSAGE.USERAUTH_SUCCESS) throw new Error(client.farewell);
  };
  const ready = enter();
  ready.catch(() => {});
  return { client, endpoint, endpointStream: far, end, ready, users };
}

const letIn: Answering = async (_method, _read, endpoint) => {
  await endpoint.send(message(MESSAGE.USERAUTH_SUCCESS));
  return false;
};

const refuse = (endpoint: SshTransport, methods: string[], isPartial = false): Promise<void> =>
  endpoint.send(message(MESSAGE.USERAUTH_FAILURE, encodeNames(methods), encodeBoolean(isPartial)));

const byPassword: SshLogin = { username: 'root', secret: { kind: 'password', password: PASSWORD } };
const byKey: SshLogin = { username: 'root', secret: { kind: 'key', private_key: pkcs8 } };

const authority = generateKeyPairSync('ed25519');
const certificate = makeCertificate(
  user.publicKey,
  {
    serial: 1n,
    use: 'user',
    key_id: 'k',
    principals: ['root'],
    valid_after: 0n,
    valid_before: 2n ** 40n,
    critical_options: {},
    extensions: {},
  },
  {
    key: authority.privateKey,
    public_key: encodePublicKey(authority.publicKey),
    nonce: randomBytes(32),
  },
);
const certificateLine = `${certificateType('ssh-rsa')} ${certificate.toString('base64')}`;
const byCertificate: SshLogin = {
  username: 'root',
  secret: { kind: 'certificate', private_key: pkcs8, certificate: certificateLine },
};

/** Takes a signature by the key, of the algorithm that the request names. */
function isSignedRequest(read: WireReader, session_id: Buffer): boolean {
  assert.equal(read.boolean(), true, 'it is signed at once');
  const algorithm = read.name();
  const shown = read.string();
  const signature = read.string();
  const data = Buffer.concat([
    encodeString(session_id),
    message(
      MESSAGE.USERAUTH_REQUEST,
      ...['root', 'ssh-connection', 'publickey'].map((name) => encodeString(name)),
      encodeBoolean(true),
      encodeString(algorithm),
      encodeString(shown),
    ),
  ]);
  const verdict = verifySsh({ type: 'ssh-rsa', key: user.publicKey }, data, signature);
  const plain = algorithm.replace('-cert-v01@openssh.com', '');
  const isShown =
    plain === algorithm ? parsePublicKey(shown) !== undefined : shown.equals(certificate);
  return verdict.valid && verdict.algorithm === plain && isShown;
}

const ways: [why: string, logins: SshLogin[], answering: Answering, isIn: boolean][] = [
  [
    'a password',
    [byPassword],
    async (method, read, endpoint) => {
      assert.deepEqual([method, read.boolean(), read.utf8()], ['password', false, PASSWORD]);
      return letIn(method, read, endpoint);
    },
    true,
  ],
  [
    'a key',
    [byKey],
    async (method, read, endpoint) => {
      assert.ok(isSignedRequest(read, endpoint.session_id));
      return letIn(method, read, endpoint);
    },
    true,
  ],
  [
    'a certificate',
    [byCertificate],
    async (method, read, endpoint) => {
      assert.ok(isSignedRequest(read, endpoint.session_id));
      return letIn(method, read, endpoint);
    },
    true,
  ],
  [
    'a password, where PAM asks for it',
    [byPassword],
    async (method, read, endpoint) => {
      if (method === 'password') await refuse(endpoint, ['keyboard-interactive']);
      else if (method === 'keyboard-interactive') {
        const texts = ['', '', ''].map((text) => encodeString(text));
        const prompt = [encodeUint32(1), encodeString('Password: '), encodeBoolean(false)];
        await endpoint.send(message(MESSAGE.USERAUTH_60, ...texts, ...prompt));
      } else {
        assert.deepEqual([read.uint32(), read.utf8()], [1, PASSWORD]);
        return letIn(method, read, endpoint);
      }
      return true;
    },
    true,
  ],
  [
    'a key and then a password, where both are wanted',
    [byKey, byPassword],
    async (method, read, endpoint) => {
      if (method === 'password') return letIn(method, read, endpoint);
      await refuse(endpoint, ['password'], true);
      return true;
    },
    true,
  ],
  [
    'a wrong password',
    [byPassword],
    async (_method, _read, endpoint) => {
      await refuse(endpoint, ['publickey', 'password']);
      return true;
    },
    false,
  ],
  [
    'a password that is to be changed',
    [byPassword],
    async (_method, _read, endpoint) => {
      const texts = [encodeString('change it'), encodeString('')];
      await endpoint.send(message(MESSAGE.USERAUTH_60, ...texts));
      return true;
    },
    false,
  ],
  [
    'a password, where a second answer is asked for',
    [byPassword],
    async (method, _read, endpoint) => {
      const texts = ['', '', ''].map((text) => encodeString(text));
      const prompt = [encodeUint32(1), encodeString('Code: '), encodeBoolean(false)];
      if (method === 'password') await refuse(endpoint, ['keyboard-interactive']);
      else await endpoint.send(message(MESSAGE.USERAUTH_60, ...texts, ...prompt));
      return true;
    },
    false,
  ],
  ['nothing', [], letIn, false],
  [
    'an endpoint that says something else',
    [byPassword],
    async (_method, _read, endpoint) => {
      await endpoint.send(message(MESSAGE.CHANNEL_DATA, encodeUint32(0), encodeString('x')));
      return true;
    },
    false,
  ],
];

for (const [why, logins, answering, isIn] of ways) {
  test(`a worker is ${isIn ? '' : 'not '}let in by ${why}`, async () => {
    const { client, ready, end, users } = talk(logins, answering);
    if (isIn) {
      await ready;
      client.disconnect('bye');
      assert.deepEqual(await end, { by: 'client' });
      assert.ok(users.every((name) => name === 'root'));
    } else {
      await assert.rejects(ready, (error: Error) => {
        assert.ok(error.message.startsWith('the endpoint: '), error.message);
        assert.ok(!error.message.includes(PASSWORD));
        return true;
      });
      const { by } = await end;
      assert.ok(by === 'refused log-in' || by === 'fault', by);
    }
  });
}

const open = (type: string, number: number): Buffer =>
  message(
    MESSAGE.CHANNEL_OPEN,
    encodeString(type),
    ...[number, 1 << 20, 32_768].map((value) => encodeUint32(value)),
  );
const confirm = (theirs: number, own: number): Buffer =>
  message(
    MESSAGE.CHANNEL_OPEN_CONFIRMATION,
    ...[theirs, own, 1 << 20, 32_768].map((value) => encodeUint32(value)),
  );
const data = (number: number, text: string): Buffer =>
  message(MESSAGE.CHANNEL_DATA, encodeUint32(number), encodeString(text));
const request = (number: number, type: string, ...fields: Buffer[]): Buffer =>
  message(
    MESSAGE.CHANNEL_REQUEST,
    encodeUint32(number),
    encodeString(type),
    encodeBoolean(false),
    ...fields,
  );
const close = (number: number): Buffer => message(MESSAGE.CHANNEL_CLOSE, encodeUint32(number));

function recorder(events: unknown[], fails = (_event: string): boolean => false): SessionWatcher {
  const note = async (event: string, ...facts: unknown[]): Promise<void> => {
    if (fails(event)) throw new Error('no room');
    events.push([event, ...facts]);
  };
  return {
    async openChannel(facts) {
      await note('open', facts);
      return {
        output: (bytes, from) => note('output', Buffer.from(bytes).toString(), from),
        input: (bytes) => note('input', Buffer.from(bytes).toString()),
        resize: (columns, rows) => note('resize', columns, rows),
        close: (exit) => note('close', exit),
      };
    },
    close: ({ reason }) => note('end', reason),
  };
}

const VT220 = { term: 'vt220', columns: 80, rows: 24 };

/** One that is to be answered. */
const asking = (number: number, type: string, ...fields: Buffer[]): Buffer =>
  message(
    MESSAGE.CHANNEL_REQUEST,
    encodeUint32(number),
    encodeString(type),
    encodeBoolean(true),
    ...fields,
  );
const done = (number: number): Buffer => message(MESSAGE.CHANNEL_SUCCESS, encodeUint32(number));
const notDone = (number: number): Buffer => message(MESSAGE.CHANNEL_FAILURE, encodeUint32(number));

/** Sends from one side, and takes it at the other. */
async function passes(from: SshTransport, to: SshTransport, ...messages: Buffer[]): Promise<void> {
  for (const one of messages) {
    await from.send(one);
    assert.deepEqual(await to.receive(), one);
  }
}

test('a watcher sees each channel: what it is for, both directions, sizes and how it ended', async () => {
  const events: unknown[] = [];
  const { client, endpoint, ready, end } = talk([byPassword], letIn, recorder(events));
  await ready;
  const pty = [encodeString('vt220'), ...[80, 24, 0, 0].map((value) => encodeUint32(value))];
  await passes(client, endpoint, open('session', 3));
  await passes(endpoint, client, confirm(3, 8));
  await passes(client, endpoint, request(8, 'pty-req', ...pty, encodeString('')));
  await passes(client, endpoint, request(8, 'exec', encodeString('id')), data(8, 'typed'));
  const size = [132, 50, 0, 0].map((value) => encodeUint32(value));
  await passes(client, endpoint, request(8, 'window-change', ...size));
  await passes(endpoint, client, data(3, 'shown'));
  const stderr = [encodeUint32(3), encodeUint32(1), encodeString('oops')];
  await passes(endpoint, client, message(MESSAGE.CHANNEL_EXTENDED_DATA, ...stderr));
  await passes(endpoint, client, request(3, 'exit-status', encodeUint32(7)), close(3));
  await passes(client, endpoint, close(8));
  // One that the endpoint opens, with numbers that are others' on the other side, and left open.
  await passes(endpoint, client, open('forwarded-tcpip', 3));
  await passes(client, endpoint, confirm(3, 8));
  await passes(client, endpoint, data(3, 'in'));
  await passes(endpoint, client, data(8, 'out'));
  client.disconnect('bye');
  assert.deepEqual(await end, { by: 'client' });
  assert.deepEqual(events, [
    ['open', { type: 'session', program: 'exec', command: 'id', pty: VT220 }],
    ['input', 'typed'],
    ['resize', 132, 50],
    ['output', 'shown', 'stdout'],
    ['output', 'oops', 'stderr'],
    ['close', { status: 7 }],
    ['open', { type: 'forwarded-tcpip', program: 'none' }],
    ['input', 'in'],
    ['output', 'out', 'stdout'],
    ['close', {}],
    ['end', 'ended by the client'],
  ]);
});

for (const event of ['open', 'output', 'input', 'close']) {
  test(`a watcher that fails at ${event} ends the connection before what it did not see`, async () => {
    const watcher = recorder([], (one) => one === event);
    const { client, endpoint, ready, end } = talk([byPassword], letIn, watcher);
    await ready;
    await passes(client, endpoint, open('session', 0));
    await passes(endpoint, client, confirm(0, 0));
    const isSeen = (from: SshTransport, to: SshTransport, one: Buffer, last: string) =>
      event === last ? from.send(one) : passes(from, to, one);
    await isSeen(client, endpoint, request(0, 'shell'), 'open');
    if (event !== 'open') await isSeen(client, endpoint, data(0, 'x'), 'input');
    if (event !== 'open' && event !== 'input') {
      await isSeen(endpoint, client, data(0, 'y'), 'output');
    }
    if (event === 'close') {
      await passes(endpoint, client, close(0));
      await client.send(close(0));
    }
    assert.deepEqual(await end, { by: 'fault', because: 'something is wrong in the worker' });
    assert.equal(await endpoint.receive().catch(() => undefined), undefined);
  });
}

test('what follows a refusal of what a channel was for is seen as what it is', async () => {
  const events: unknown[] = [];
  const { client, endpoint, ready, end } = talk([byPassword], letIn, recorder(events));
  await ready;
  await passes(client, endpoint, open('session', 3));
  await passes(endpoint, client, confirm(3, 8));
  const variable = [encodeString('LANG'), encodeString('C')];
  await passes(client, endpoint, asking(8, 'env', ...variable));
  await passes(client, endpoint, asking(8, 'subsystem', encodeString('sftp')));
  await passes(client, endpoint, data(8, 'early'));
  await passes(endpoint, client, done(3), notDone(3));
  await passes(client, endpoint, asking(8, 'exec', encodeString('sftp-server')));
  await passes(endpoint, client, done(3), data(3, 'shown'));
  client.disconnect('bye');
  assert.deepEqual(await end, { by: 'client' });
  assert.deepEqual(events, [
    ['open', { type: 'session', program: 'subsystem', command: 'sftp' }],
    ['input', 'early'],
    ['close', { refused: true }],
    ['open', { type: 'session', program: 'exec', command: 'sftp-server' }],
    ['output', 'shown', 'stdout'],
    ['close', {}],
    ['end', 'ended by the client'],
  ]);
});

test('a command is what it is, whatever its words are', async () => {
  const events: unknown[] = [];
  const { client, endpoint, ready, end } = talk([byPassword], letIn, recorder(events));
  await ready;
  await passes(client, endpoint, open('session', 3));
  await passes(endpoint, client, confirm(3, 8));
  await passes(client, endpoint, request(8, 'exec', encodeString('subsystem:; sh')));
  client.disconnect('bye');
  await end;
  const facts = { type: 'session', program: 'exec', command: 'subsystem:; sh' };
  assert.deepEqual(events[0], ['open', facts]);
});

test('where one channel cannot be closed the others are, and so is the connection', async () => {
  const events: unknown[] = [];
  let closes = 0;
  const watcher = recorder(events, (one) => one === 'close' && ++closes === 1);
  const { client, endpoint, ready, end } = talk([byPassword], letIn, watcher);
  await ready;
  for (const at of [0, 1]) {
    await passes(client, endpoint, open('session', at));
    await passes(endpoint, client, confirm(at, at));
    await passes(client, endpoint, request(at, 'shell'));
  }
  client.disconnect('bye');
  assert.deepEqual(await end, { by: 'fault', because: 'something is wrong in the worker' });
  assert.deepEqual(events.slice(2), [
    ['close', {}],
    ['end', 'ended by the client'],
  ]);
});

for (const [leave, how] of [
  [(endpoint: SshTransport) => endpoint.disconnect('bye'), 'says so'],
  [(_endpoint: SshTransport, stream: Duplex) => void stream.end(), 'just ends'],
] as const) {
  test(`what an endpoint has sent before it leaves reaches a client that goes on sending: one that ${how}`, async () => {
    const events: unknown[] = [];
    const watcher = recorder(events);
    const slow: SessionWatcher = {
      ...watcher,
      openChannel: async (facts) => {
        const channel = await watcher.openChannel(facts);
        return { ...channel, output: (...told) => wait(2).then(() => channel.output(...told)) };
      },
    };
    const made = talk([byPassword], letIn, slow);
    const { client, endpoint, ready, end } = made;
    await ready;
    await passes(client, endpoint, open('session', 3));
    await passes(endpoint, client, confirm(3, 8));
    await passes(client, endpoint, request(8, 'shell'));
    for (let nth = 0; nth < 25; nth++) await endpoint.send(data(3, `${nth}`));
    leave(endpoint, made.endpointStream);
    const heard: (Buffer | undefined)[] = [];
    for (let next = await client.receive(); next; next = await client.receive()) {
      heard.push(next);
      await client.send(data(8, 'typed')).catch(() => {});
    }
    assert.deepEqual(
      heard,
      Array.from({ length: 25 }, (_, nth) => data(3, `${nth}`)),
    );
    assert.deepEqual(await end, { by: 'endpoint' });
    assert.deepEqual(events.at(-1), ['end', 'ended by the endpoint']);
  });
}

type Side = 'client' | 'endpoint';

const opened: [Side, Buffer][] = [
  ['client', open('session', 3)],
  ['endpoint', confirm(3, 8)],
];
const refusal = message(
  MESSAGE.CHANNEL_OPEN_FAILURE,
  ...[encodeUint32(3), encodeUint32(1), encodeString(''), encodeString('')],
);
const shell: [Side, Buffer] = ['client', request(8, 'shell')];
const TWICE = 'a channel is begun twice';
const UNSEEN = 'data of a channel that nobody has begun';
const late = message(
  MESSAGE.CHANNEL_EXTENDED_DATA,
  ...[encodeUint32(3), encodeUint32(1), encodeString('oops')],
);

for (const { why, before, last, because } of [
  { why: 'data to no channel', before: [], last: ['client', data(8, 'x')], because: UNSEEN },
  {
    why: 'data before the channel is confirmed',
    before: opened.slice(0, 1),
    last: ['endpoint', data(3, 'x')],
    because: UNSEEN,
  },
  {
    why: 'data of the endpoint before the channel is for anything',
    before: opened,
    last: ['endpoint', data(3, 'x')],
    because: UNSEEN,
  },
  {
    why: 'other data of the endpoint before the channel is for anything',
    before: opened,
    last: ['endpoint', late],
    because: UNSEEN,
  },
  {
    why: 'data of the client before the channel is for anything',
    before: opened,
    last: ['client', data(8, 'x')],
    because: UNSEEN,
  },
  {
    why: 'a channel that was confirmed and is refused then',
    before: [...opened, shell],
    last: ['endpoint', refusal],
    because: 'a channel is refused that is open',
  },
  {
    why: 'a command beside another one',
    before: [...opened, ['client', asking(8, 'subsystem', encodeString('none'))]],
    last: ['client', asking(8, 'exec', encodeString('id'))],
    because: TWICE,
  },
  {
    why: 'a command where another request than the first one was refused',
    before: [
      ...opened,
      ['client', asking(8, 'env', encodeString('A'), encodeString('b'))],
      ['client', asking(8, 'subsystem', encodeString('none'))],
      ['endpoint', notDone(3)],
    ],
    last: ['client', asking(8, 'exec', encodeString('id'))],
    because: TWICE,
  },
  {
    why: 'a command after one that is done',
    before: [
      ...opened,
      ['client', asking(8, 'exec', encodeString('sleep 9'))],
      ['endpoint', done(3)],
      ['endpoint', notDone(3)],
    ],
    last: ['client', asking(8, 'exec', encodeString('id'))],
    because: TWICE,
  },
  {
    why: 'a command after one of which nobody is told whether it is done',
    before: [
      ...opened,
      ['client', request(8, 'exec', encodeString('sleep 9'))],
      ['client', asking(8, 'env', encodeString('A'), encodeString('b'))],
      ['endpoint', notDone(3)],
    ],
    last: ['client', asking(8, 'exec', encodeString('id'))],
    because: TWICE,
  },
] satisfies { why: string; before: [Side, Buffer][]; last: [Side, Buffer]; because: string }[]) {
  test(`what a watcher would not see ends the connection: ${why}`, async () => {
    const { client, endpoint, ready, end } = talk([byPassword], letIn, recorder([]));
    await ready;
    const send = ([from, one]: [Side, Buffer], go: typeof passes): Promise<void> =>
      from === 'client' ? go(client, endpoint, one) : go(endpoint, client, one);
    for (const step of before) await send(step, passes);
    await send(last, (from, _to, one) => from.send(one ?? Buffer.alloc(0)));
    assert.deepEqual(await end, { by: 'fault', because });
    const other = last[0] === 'client' ? endpoint : client;
    assert.equal(await other.receive().catch(() => undefined), undefined);
  });
}

test('an endpoint’s offer of its other keys is not passed on, other requests are', async () => {
  const { client, endpoint, ready } = talk([byPassword], letIn);
  await ready;
  const global = (name: string): Buffer =>
    message(MESSAGE.GLOBAL_REQUEST, encodeString(name), encodeBoolean(false));
  await endpoint.send(global('hostkeys-00@openssh.com'));
  await passes(endpoint, client, global('keepalive@openssh.com'));
  await passes(client, endpoint, global('no-more-sessions@openssh.com'));
  client.disconnect('bye');
});

test('a client that does not begin with a log-in is told so', async () => {
  const { end, ready } = talk([byPassword], letIn, undefined, open('session', 0));
  await assert.rejects(ready, /a log-in must come first/);
  assert.equal((await end).by, 'fault');
});

const banner = message(MESSAGE.USERAUTH_BANNER, encodeString('hello\n'), encodeString(''));

for (const [count, handedOn] of [
  [3, 3],
  // 64 KiB, each with a price of its own.
  [1_000, 241],
] as const) {
  test(`of ${count} greetings of an endpoint ${handedOn} are handed on`, async () => {
    const { client, ready } = talk([byPassword], async (_method, _read, endpoint) => {
      for (let nth = 0; nth < count; nth++) await endpoint.send(banner);
      return letIn(_method, _read, endpoint);
    });
    await assert.rejects(ready, 'the first answer is a greeting');
    for (let nth = 1; nth < handedOn; nth++) assert.deepEqual(await client.receive(), banner);
    assert.equal((await client.receive())?.[0], MESSAGE.USERAUTH_SUCCESS);
  });
}

test('an endpoint that greets without end is left', async () => {
  const { ready, end } = talk([byPassword], async (_method, _read, endpoint) => {
    for (;;) await endpoint.send(banner);
  });
  await assert.rejects(ready, /the endpoint: it greets without end/);
  assert.equal((await end).by, 'fault');
});

test('no more than five log-ins are tried, however many there are', async () => {
  const many = Array.from({ length: 9 }, () => byPassword);
  const { ready, users } = talk(many, async (_method, _read, endpoint) => {
    await refuse(endpoint, ['publickey', 'password']);
    return true;
  });
  await assert.rejects(ready, /too many log-ins were refused/);
  assert.equal(users.length, 5);
});

test('an endpoint that asks nothing again and again is left', async () => {
  let rounds = 0;
  const { ready } = talk([byPassword], async (method, _read, endpoint) => {
    if (method === 'password') await refuse(endpoint, ['keyboard-interactive']);
    else {
      rounds++;
      const texts = ['', '', ''].map((text) => encodeString(text));
      await endpoint.send(message(MESSAGE.USERAUTH_60, ...texts, encodeUint32(0)));
    }
    return true;
  });
  await assert.rejects(ready, /it asks again and again/);
  assert.ok(rounds <= 6, `${rounds}`);
});

for (const [count, isHeard] of [
  [4, true],
  [5, false],
] as const) {
  test(`a client that asks ${count} times whether it may log in is ${isHeard ? '' : 'not '}heard`, async () => {
    const [ours, theirs] = streamPair();
    const client = new SshTransport(ours, { role: 'client', judge: () => ({ trusted: true }) }, [
      'ssh-ed25519',
    ]);
    const host_key = { key: host.privateKey, public_key: encodePublicKey(host.publicKey) };
    const server = new SshTransport(theirs, { role: 'server', host_key }, ['ssh-ed25519']);
    await Promise.all([client.start(), server.start()]);
    const received = receiveClient(server, Promise.resolve([]));
    received.catch(() => {});
    const ask = message(MESSAGE.SERVICE_REQUEST, encodeString('ssh-userauth'));
    for (let nth = 0; nth < count; nth++) await client.send(ask);
    const names = ['anybody', 'ssh-connection', 'none'].map((name) => encodeString(name));
    await client.send(message(MESSAGE.USERAUTH_REQUEST, ...names));
    if (isHeard) await received;
    else await assert.rejects(received, /the client never logs in/);
  });
}

test('a client that changes its keys again and again ends the connection, and all hear of it', async () => {
  const [ours, theirs] = streamPair();
  const [near, far] = streamPair();
  const host_key = { key: host.privateKey, public_key: encodePublicKey(host.publicKey) };
  const endpoint = new SshTransport(far, { role: 'server', host_key }, ['ssh-ed25519']);
  void endpoint.start().catch(() => {});
  const client = new SshPeer(ours, { role: 'client', judge: () => ({ trusted: true }) });
  const grant = {
    ...{ logins: [byPassword], host_keys: [encodeSshPublicKey(host.publicKey)], host_ca_keys: [] },
    worker_key: randomBytes(32).toString('base64'),
  };
  const end = proxySsh({ client: theirs, endpoint: near, name: 'host' }, grant);
  await client.start();
  const serve = async (): Promise<void> => {
    await endpoint.receive();
    await endpoint.send(message(MESSAGE.SERVICE_ACCEPT, encodeString('ssh-userauth')));
    await endpoint.receive();
    await endpoint.send(message(MESSAGE.USERAUTH_SUCCESS));
  };
  const enter = async (): Promise<void> => {
    client.send(message(MESSAGE.SERVICE_REQUEST, encodeString('ssh-userauth')));
    await client.receive(MESSAGE.SERVICE_ACCEPT);
    const names = ['anybody', 'ssh-connection', 'none'].map((name) => encodeString(name));
    client.send(message(MESSAGE.USERAUTH_REQUEST, ...names));
    await client.receive(MESSAGE.USERAUTH_SUCCESS);
  };
  await Promise.all([serve(), enter()]);
  const because = 'the client: it changes its keys too often';
  await assert.rejects(async () => {
    for (;;) await client.changeKeys();
  }, new RegExp(because));
  assert.deepEqual(await end, { by: 'fault', because });
  assert.equal(await endpoint.receive(), undefined);
  assert.equal(endpoint.farewell, because);
});
