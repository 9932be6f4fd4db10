// Two requests at once that change what a CA goes by: what was acknowledged stays.

import assert from 'node:assert/strict';
import {
  type Answered,
  type Bench,
  type Contender,
  type ContestCase,
  contestAll,
  must,
} from '../support/racing.ts';

interface Place {
  bench: Bench;
  mount: string;
}

/** Reads a field, as it is for whoever asks now. */
async function read({ bench, mount }: Place, path: string, field: string): Promise<unknown> {
  return (await must(bench.maker.call('GET', `${mount}/${path}`))).field(`data.${field}`);
}

type Request = [method: string, path: string, body?: object];

/** Two requests to a CA of their own, with a root and a role. */
function contest(
  name: string,
  requests: readonly [Request, Request],
  judge: (at: Place, answers: { quicker: Answered; slower: Answered }) => Promise<void>,
  more: { before?: readonly Request[]; unresolved?: true } = {},
): ContestCase {
  return {
    name,
    async setUp(bench) {
      const mount = `pki${bench.next()}`;
      const call = ([method, path, body]: Request) =>
        must(bench.maker.call(method, `${mount}/${path}`, body));
      await must(bench.maker.call('POST', `sys/mounts/${mount}`, { type: 'pki' }));
      await call(['POST', 'root/generate/internal', ROOT]);
      await call(['POST', 'roles/web', { allow_any_name: true, ttl: '1h', ou: 'Before' }]);
      for (const request of more.before ?? []) await call(request);
      const [one, other] = requests.map(([method, path, body]): Contender => {
        return { method, path: `${mount}/${path}`, ...(body ? { body } : {}) };
      });
      assert.ok(one && other);
      return {
        one,
        other,
        ...(more.unresolved ? { unresolved: true } : {}),
        judge: (answers) => judge({ bench, mount }, answers),
      };
    },
  };
}

const ROOT = { common_name: 'Root', key_type: 'ec', issuer_name: 'first', key_name: 'first' };

/** Two changes of different fields, of which neither is lost. */
function both(
  method: string,
  path: string,
  changes: readonly [object, object],
  before: readonly Request[] = [],
): ContestCase {
  const name = `${method} ${path} of ${changes.map((one) => Object.keys(one)).join(' and ')}, both kept`;
  return contest(
    name,
    [
      [method, path, changes[0]],
      [method, path, changes[1]],
    ],
    async (at, { slower }) => {
      assert.ok(slower.reply.status < 300, slower.reply.text);
      for (const [field, value] of Object.entries({ ...changes[0], ...changes[1] })) {
        assert.deepEqual(await read(at, path, field), value, field);
      }
    },
    { before },
  );
}

/** Two changes that each make sense with what there was, but not together: one is refused. */
function either(
  name: string,
  requests: readonly [Request, Request],
  because: RegExp,
  before: readonly Request[] = [],
): ContestCase {
  return contest(
    `${name}: one is refused`,
    requests,
    async (_at, { slower }) => {
      assert.equal(slower.reply.status, 400, slower.reply.text);
      assert.match(slower.reply.text, because);
    },
    { before },
  );
}

const isPatch = ({ by }: Answered): boolean => by.method === 'PATCH';

const roles: ContestCase[] = [
  contest(
    'a role is changed and removed: it stays removed',
    [
      ['PATCH', 'roles/web', { ttl: '2h' }],
      ['DELETE', 'roles/web'],
    ],
    async ({ bench, mount }, { slower }) => {
      assert.equal(slower.reply.status, isPatch(slower) ? 400 : 204, slower.reply.text);
      assert.equal((await bench.maker.call('GET', `${mount}/roles/web`)).status, 404);
    },
  ),
  contest(
    'a role is changed and narrowed: it stays narrowed',
    [
      ['PATCH', 'roles/web', { ttl: '2h' }],
      ['POST', 'roles/web', { allowed_domains: ['a.test'], ttl: '1h' }],
    ],
    async (at, { slower }) => {
      assert.ok(slower.reply.status < 300, slower.reply.text);
      assert.equal(await read(at, 'roles/web', 'allow_any_name'), false);
      assert.deepEqual(await read(at, 'roles/web', 'allowed_domains'), ['a.test']);
      assert.equal(await read(at, 'roles/web', 'ttl'), isPatch(slower) ? 7200 : 3600);
    },
  ),
  both('PATCH', 'roles/web', [{ ttl: 7200 }, { allow_any_name: false }]),
  contest(
    'a role is written whole and removed: it stays removed',
    [
      ['POST', 'roles/web', { allowed_domains: ['a.test'] }],
      ['DELETE', 'roles/web'],
    ],
    async ({ bench, mount }, { slower }) => {
      assert.equal(slower.reply.status, slower.by.method === 'POST' ? 400 : 204);
      assert.equal((await bench.maker.call('GET', `${mount}/roles/web`)).status, 404);
    },
  ),
  contest(
    'a new role is written by two: it is one of them whole',
    [
      ['POST', 'roles/new', { allow_any_name: true }],
      ['POST', 'roles/new', { ou: 'Ours' }],
    ],
    async (at, { slower }) => {
      assert.ok(slower.reply.status < 300, slower.reply.text);
      const isFirst = JSON.stringify(slower.by.body).includes('allow_any_name');
      assert.equal(await read(at, 'roles/new', 'allow_any_name'), isFirst);
      assert.deepEqual(await read(at, 'roles/new', 'ou'), isFirst ? [] : ['Ours']);
    },
  ),
];

const AUTO: Request = ['POST', 'config/crl', { auto_rebuild: true }];
const secondRoot = (key_name: string): Request => [
  'POST',
  'root/generate/internal',
  { ...ROOT, issuer_name: 'second', key_name },
];

const settings: ContestCase[] = [
  both('POST', 'config/crl', [{ expiry: '48h' }, { ocsp_disable: true }]),
  both('POST', 'config/crl', [{ disable: true }, { max_crl_entries: 7 }], [AUTO]),
  either(
    'delta lists are switched on and what they need is switched off',
    [
      ['POST', 'config/crl', { enable_delta: true }],
      ['POST', 'config/crl', { auto_rebuild: false }],
    ],
    /cannot be enabled when auto rebuilding is disabled/,
    [AUTO],
  ),
  both('POST', 'config/urls', [
    { ocsp_servers: ['http://a.test'] },
    { issuing_certificates: ['http://b.test'] },
  ]),
  contest(
    'another issuer becomes the default one, and the latest one no longer does by itself',
    [
      ['POST', 'root/replace', { default: 'second' }],
      ['POST', 'config/issuers', { default: 'first', default_follows_latest_issuer: false }],
    ],
    async (at) => {
      assert.equal(await read(at, 'config/issuers', 'default_follows_latest_issuer'), false);
    },
    {
      before: [
        secondRoot('second'),
        ['POST', 'config/issuers', { default: 'first', default_follows_latest_issuer: true }],
      ],
    },
  ),
];

const things: ContestCase[] = [
  both('PATCH', 'issuer/default', [
    { ocsp_servers: ['http://a.test'] },
    { leaf_not_after_behavior: 'truncate' },
  ]),
  contest(
    'an issuer is changed and removed: it stays removed',
    [
      ['PATCH', 'issuer/first', { leaf_not_after_behavior: 'truncate' }],
      ['DELETE', 'issuer/first'],
    ],
    async ({ bench, mount }, { slower }) => {
      if (isPatch(slower)) assert.match(slower.reply.text, /unable to find PKI issuer/);
      assert.equal((await bench.maker.call('GET', `${mount}/issuer/first`)).status, 500);
    },
    { unresolved: true },
  ),
  either('two roots of one name', [secondRoot('a'), secondRoot('b')], /issuer name already in use/),
  either(
    'two keys of one name',
    [
      ['POST', 'keys/generate/internal', { key_type: 'ec', key_name: 'same' }],
      ['POST', 'keys/generate/internal', { key_type: 'ec', key_name: 'same' }],
    ],
    /key name already in use/,
  ),
  either(
    'a key takes the name that another one gets',
    [
      ['POST', 'keys/generate/internal', { key_type: 'ec', key_name: 'same' }],
      ['POST', 'key/first', { key_name: 'same' }],
    ],
    /key name already in use/,
  ),
  contest(
    'a key is removed while a root is made of it: no issuer is without its key',
    [
      ['DELETE', 'key/spare'],
      ['POST', 'root/generate/existing', { common_name: 'Other', key_ref: 'spare' }],
    ],
    async ({ bench, mount }, { slower }) => {
      assert.ok(slower.reply.status >= 400, slower.reply.text);
      const key = await bench.maker.call('GET', `${mount}/key/spare`);
      assert.equal(key.status === 200, slower.by.method === 'DELETE', key.text);
    },
    {
      before: [['POST', 'keys/generate/internal', { key_type: 'ec', key_name: 'spare' }]],
      unresolved: true,
    },
  ),
];

contestAll('a CA that is changed by two at once', [...roles, ...settings, ...things]);
