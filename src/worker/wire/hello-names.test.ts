import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readHello } from '../../../test/support/client-hellos.ts';
import { type HelloNames, readHelloNames, sessionOf } from './hello-names.ts';

const ID = 's_1234567890';
const OFFER = ['http/1.1', ID];

const real: [Parameters<typeof readHello>[0], HelloNames][] = [
  ['node', { server_name: ID, protocols: OFFER }],
  ['openssl', { server_name: 'worker.example', protocols: OFFER }],
  ['openssl-without-names', { server_name: '', protocols: [] }],
  ['go', { server_name: '', protocols: OFFER }],
];

for (const [client, names] of real) {
  test(`the first message of ${client} says whom it wants`, () => {
    assert.deepEqual(readHelloNames(readHello(client)), names);
  });

  test(`the first message of ${client}, cut anywhere, says nothing`, () => {
    const whole = readHello(client);
    for (let length = 0; length < whole.length; length++) {
      assert.equal(readHelloNames(whole.subarray(0, length)), undefined, String(length));
    }
  });

  test(`the first message of ${client} may come in several records`, () => {
    const whole = readHello(client);
    const message = whole.subarray(5);
    for (const size of [1, 7, 100]) {
      const records: Buffer[] = [];
      for (let at = 0; at < message.length; at += size) {
        const piece = message.subarray(at, at + size);
        records.push(Buffer.from([22, 3, 1, piece.length >> 8, piece.length & 0xff]), piece);
      }
      assert.deepEqual(readHelloNames(Buffer.concat(records)), names, String(size));
    }
  });
}

/** A message of such extensions, each with its type and what is in it. */
function helloOf(extensions: [type: number, body: number[]][], type = 1, record = 22): Buffer {
  const told = extensions.flatMap(([kind, body]) => [...two(kind), ...two(body.length), ...body]);
  const random = new Array<number>(32).fill(7);
  const message = [3, 3, ...random, 0, 0, 2, 0x13, 1, 1, 0, ...two(told.length), ...told];
  const whole = [type, 0, ...two(message.length), ...message];
  return Buffer.from([record, 3, 1, ...two(whole.length), ...whole]);
}

const two = (value: number): number[] => [value >> 8, value & 0xff];
const bytes = (text: string): number[] => [...Buffer.from(text)];
const serverName = (name: string, type = 0): [number, number[]] => {
  const entry = [type, ...two(name.length), ...bytes(name)];
  return [0, [...two(entry.length), ...entry]];
};
const alpn = (...names: string[]): [number, number[]] => {
  const list = names.flatMap((name) => [name.length, ...bytes(name)]);
  return [16, [...two(list.length), ...list]];
};

const nothing: [why: string, Uint8Array][] = [
  ['nothing', new Uint8Array()],
  ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')],
  ['another message of a hand-shake', helloOf([alpn(ID)], 2)],
  ['another kind of record', helloOf([alpn(ID)], 1, 23)],
  ['a list of protocols longer than its extension', helloOf([[16, [0, 9, 2, 104, 50]]])],
  ['a server name longer than its list', helloOf([[0, [0, 4, 0, 0, 9, 97]]])],
];

for (const [why, given] of nothing) {
  test(`${why} says nothing`, () => assert.equal(readHelloNames(given), undefined));
}

test('extensions that nobody knows are passed over', () => {
  const hello = helloOf([[0xffff, [1, 2, 3]], serverName('a.example'), [23, []], alpn('h2')]);
  assert.deepEqual(readHelloNames(hello), { server_name: 'a.example', protocols: ['h2'] });
});

test('a name of another kind than a host is none', () => {
  assert.deepEqual(readHelloNames(helloOf([serverName(ID, 1)])), {
    server_name: '',
    protocols: [],
  });
});

const sessions: [names: HelloNames, session: string | undefined, why: string][] = [
  [{ server_name: ID, protocols: [] }, ID, 'the server name'],
  [{ server_name: '', protocols: OFFER }, ID, 'the first protocol that is one'],
  [{ server_name: 's_b', protocols: ['s_c'] }, 's_b', 'the server name before any protocol'],
  [{ server_name: 'worker.example', protocols: ['s_c', 's_d'] }, 's_c', 'a host is no session'],
  [{ server_name: '', protocols: ['http/1.1', 'h2'] }, undefined, 'none'],
  [{ server_name: 'S_1234567890', protocols: [] }, undefined, 'ids begin with a small letter'],
  [{ server_name: 's_', protocols: [] }, undefined, 'an id without a name'],
  [{ server_name: 's_12.34', protocols: [] }, undefined, 'a character that ids do not have'],
  [{ server_name: 's_12\n', protocols: [] }, undefined, 'a line feed at the end'],
  [{ server_name: `s_${'a'.repeat(64)}`, protocols: [] }, `s_${'a'.repeat(64)}`, 'long'],
  [{ server_name: `s_${'a'.repeat(65)}`, protocols: [] }, undefined, 'too long'],
];

for (const [names, session, why] of sessions) {
  test(`of ${names.server_name || '-'} and ${names.protocols.join(', ') || '-'} the session is ${session}: ${why}`, () => {
    assert.equal(sessionOf(names), session);
  });
}
