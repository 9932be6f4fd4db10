import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import { readWorkerSettings } from './settings.ts';

const NEEDED = { servers: ['gatehouse.example.com:9201'], state: '/var/lib/gatehouse-worker' };
const read = (more: object) => readWorkerSettings(JSON.stringify({ ...NEEDED, ...more }));

test('what is left out is as the reference says', () => {
  const { listener, tags, log_level, name } = read({});
  assert.deepEqual(listener?.address.at, { host: '127.0.0.1', port: 9202 });
  assert.equal(listener?.public_address, undefined);
  assert.deepEqual(tags, {});
  assert.equal(log_level, 'info');
  assert.equal(name, undefined);
});

test('a worker takes no connections where its listener is null', () => {
  assert.equal(read({ listener: null }).listener, null);
  assert.notEqual(read({ listener: {} }).listener, null);
});

const REFUSED: [settings: object, because: string][] = [
  [{ servers: [] }, 'servers must name at least one server'],
  [{ servers: undefined }, 'servers must be a list of texts'],
  [{ state: undefined }, 'state must be a text that is not empty'],
  [{ listener: 'no' }, 'listener must be an object, or null'],
  [{ listener: { address: 'here' } }, 'listener.address must be HOST:PORT'],
  [
    { listener: { public_address: ':9202' } },
    'listener.public_address must name a host and a port that clients can reach',
  ],
  [
    { listener: { public_address: 'höst.example:9202' } },
    'listener.public_address must be HOST:PORT',
  ],
  [{ tags: { '': ['edge'] } }, 'tags: Tag keys must be non-empty.'],
  [{ tags: { type: ['e'.repeat(513)] } }, 'tags: Tag values '],
  [{ tags: ['edge'] }, 'tags must be lists of texts, by key'],
  [{ tags: { type: 'edge' } }, 'tags.type must be a list of texts'],
  [{ log_level: 'loud' }, 'log_level must be one of '],
  [{ token: 'x' }, 'unknown key "token" in the configuration; known are name, '],
  [
    { listener: { adress: ':1' } },
    'unknown key "listener.adress" in the configuration; known are listener.address, listener.public_address',
  ],
];
for (const [settings, because] of REFUSED) {
  test(`${JSON.stringify(settings)} is refused: ${because}`, () => {
    assert.throws(
      () => read(settings),
      (error) => error instanceof Failure && error.message.startsWith(because),
    );
  });
}
