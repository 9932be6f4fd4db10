// Issuers and keys have paths of their own. A denial of one is a denial where a body names it, or
// finds it, by another of its names.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Ask, deny, personWith } from '../support/denied.ts';
import { eachPlace } from '../support/engines.ts';
import { startBroker } from '../support/seeded-broker.ts';
import type { Client } from '../support/server.ts';

interface Named {
  id: string;
  name: string;
}
type Kind = 'issuer' | 'key';
type Request = [method: string, path: string, body?: object];

let made = 0;

async function makeRoot(client: Client): Promise<Record<Kind, Named>> {
  made += 1;
  const names = { issuer_name: `issuer-${made}`, key_name: `key-${made}` };
  const body = { ...names, common_name: `root ${made}`, key_type: 'ec', ttl: '24h' };
  const reply = await client.call('POST', 'ca/root/generate/internal', body);
  assert.equal(reply.status, 200, reply.text);
  return {
    issuer: { id: reply.textAt('data.issuer_id'), name: names.issuer_name },
    key: { id: reply.textAt('data.key_id'), name: names.key_name },
  };
}

const root = { common_name: 'next root', ttl: '24h' };

/** Requests that name an issuer or a key; `plain` is a root that nobody is denied. */
const REQUESTS: [
  what: string,
  kind: Kind,
  request: (ref: string, plain: Record<Kind, Named>) => Request,
][] = [
  ['the issuer of a role', 'issuer', (issuer_ref) => ['POST', 'ca/roles/web', { issuer_ref }]],
  [
    'the issuer in the patch of a role',
    'issuer',
    (issuer_ref) => ['PATCH', 'ca/roles/web', { issuer_ref }],
  ],
  ['the default issuer', 'issuer', (ref) => ['POST', 'ca/config/issuers', { default: ref }]],
  [
    'the default issuer, replaced',
    'issuer',
    (ref) => ['POST', 'ca/root/replace', { default: ref }],
  ],
  [
    'a chain',
    'issuer',
    (ref, { issuer }) => ['POST', `ca/issuer/${issuer.id}`, { manual_chain: ['self', ref] }],
  ],
  [
    'the patch of a chain',
    'issuer',
    (ref, { issuer }) => ['PATCH', `ca/issuer/${issuer.id}`, { manual_chain: ['self', ref] }],
  ],
  [
    'what an issuer has signed',
    'issuer',
    (ref) => ['GET', `ca/certs/search?issuer_ref=${encodeURIComponent(ref)}`],
  ],
  [
    'what an issuer has signed, listed',
    'issuer',
    (ref) => ['LIST', `ca/certs/search?issuer_ref=${encodeURIComponent(ref)}`],
  ],
  ['the default key', 'key', (ref) => ['POST', 'ca/config/keys', { default: ref }]],
  [
    'the key of a new root',
    'key',
    (key_ref) => ['POST', 'ca/root/generate/existing', { key_ref, ...root }],
  ],
  [
    'the key of a new issuer',
    'key',
    (key_ref) => ['POST', 'ca/issuers/generate/root/existing', { key_ref, ...root }],
  ],
  [
    'the key of a root that is rotated',
    'key',
    (key_ref) => ['POST', 'ca/root/rotate/existing', { key_ref, ...root }],
  ],
  [
    'the key of a request',
    'key',
    (key_ref) => ['POST', 'ca/intermediate/generate/existing', { key_ref, common_name: 'sub' }],
  ],
  [
    'the key of a request for a further certificate',
    'key',
    (key_ref) => ['POST', 'ca/intermediate/cross-sign', { key_ref, common_name: 'sub' }],
  ],
];

/** Requests that give a name. */
const NAMINGS: [
  what: string,
  kind: Kind,
  request: (name: string, plain: Record<Kind, Named>) => Request,
][] = [
  [
    'a new root',
    'issuer',
    (issuer_name) => [
      'POST',
      'ca/root/generate/internal',
      { issuer_name, key_type: 'ec', ...root },
    ],
  ],
  [
    'a new root with its key',
    'key',
    (key_name) => [
      'POST',
      'ca/issuers/generate/root/internal',
      { key_name, key_type: 'ec', ...root },
    ],
  ],
  [
    'a root that is rotated',
    'issuer',
    (issuer_name) => ['POST', 'ca/root/rotate/internal', { issuer_name, key_type: 'ec', ...root }],
  ],
  [
    'a request with its key',
    'key',
    (key_name) => [
      'POST',
      'ca/issuers/generate/intermediate/internal',
      { key_name, key_type: 'ec', common_name: 'sub' },
    ],
  ],
  [
    'a new key',
    'key',
    (key_name) => ['POST', 'ca/keys/generate/internal', { key_name, key_type: 'ec' }],
  ],
  [
    'an issuer',
    'issuer',
    (issuer_name, { issuer }) => ['POST', `ca/issuer/${issuer.id}`, { issuer_name }],
  ],
  [
    'the patch of an issuer',
    'issuer',
    (issuer_name, { issuer }) => ['PATCH', `ca/issuer/${issuer.id}`, { issuer_name }],
  ],
  ['a key', 'key', (key_name, { key }) => ['POST', `ca/key/${key.id}`, { key_name }]],
];

async function startAuthority(
  t: Parameters<typeof startBroker>[0],
  options: Parameters<typeof startBroker>[1],
) {
  const { client } = await startBroker(t, options);
  await client.call('POST', 'sys/mounts/ca', { type: 'pki' });
  await client.call('POST', 'ca/roles/web', { allow_any_name: true });
  return { client, free: await personWith(client, 'free', '') };
}

async function passes(ask: Ask, request: Request, told: string): Promise<void> {
  const status = await ask(...request);
  assert.ok(status < 300, `${told}: ${status}`);
}

eachPlace('issuers and keys that a body names', (newPlace) => {
  test('are denied where a path of their own is, and no others are', async (t) => {
    const { client, free } = await startAuthority(t, { place: await newPlace() });
    const [denied, other, plain] = [
      await makeRoot(client),
      await makeRoot(client),
      await makeRoot(client),
    ];
    for (const [what, kind, request] of REQUESTS) {
      for (const own of ['id', 'name'] as const) {
        const ask = await personWith(
          client,
          `but-${kind}-${own}`,
          deny(`ca/${kind}/${denied[kind][own]}`),
        );
        for (const by of ['id', 'name'] as const) {
          const told = `${what} by its ${by}, denied by its ${own}`;
          await passes(ask, request(other[kind][by], plain), `${told}: the other`);
          assert.equal(await ask(...request(denied[kind][by], plain)), 403, told);
          await passes(free, request(denied[kind][by], plain), `${told}: without the denial`);
        }
      }
    }
  });

  test('are denied where all are removed at once', async (t) => {
    const { client } = await startAuthority(t, { place: await newPlace() });
    const denials: [path: (root: Record<Kind, Named>) => string, status: number][] = [
      [({ issuer }) => `ca/issuer/${issuer.id}`, 403],
      [({ issuer }) => `ca/issuer/${issuer.name}`, 403],
      [() => 'ca/issuer/Default', 403],
      [({ key }) => `ca/key/${key.id}`, 403],
      [({ key }) => `ca/key/${key.name}`, 403],
      [() => 'ca/key/default', 403],
      [({ issuer }) => `ca/issuer/${issuer.name}x`, 200],
      [({ issuer }) => `ca/issuer/${issuer.id}/json`, 200],
    ];
    for (const [path, status] of denials) {
      const root = await makeRoot(client);
      await makeRoot(client);
      const ask = await personWith(client, `all-${made}`, deny(path(root)));
      assert.equal(await ask('DELETE', 'ca/root'), status, path(root));
      const left = await client.call('LIST', 'ca/issuers');
      assert.equal(left.status, status === 403 ? 200 : 404, path(root));
    }
  });

  test('are denied by the names that they get', async (t) => {
    const { client, free } = await startAuthority(t, { place: await newPlace() });
    for (const [what, kind, request] of NAMINGS) {
      const plain = await makeRoot(client);
      const ask = await personWith(client, `no-${kind}`, deny(`ca/${kind}/chief`));
      assert.equal(await ask(...request(' chief ', plain)), 403, what);
      await passes(ask, request(`chief-${made}`, plain), `${what}: another name`);
      await passes(free, request('chief', plain), `${what}: without the denial`);
      await client.call('PATCH', `ca/issuer/chief`, { issuer_name: '' });
      await client.call('POST', `ca/key/chief`, { key_name: '' });
    }
  });

  test('are denied where they are the default that is found, and a role that names none has none', async (t) => {
    const { client } = await startAuthority(t, { place: await newPlace() });
    const { key, issuer } = await makeRoot(client);
    const existing: Request = ['POST', 'ca/root/generate/existing', root];
    for (const [own, status] of [
      [key.id, 403],
      [key.name, 403],
      ['DEFAULT', 403],
      ['none', 200],
    ] as const) {
      const ask = await personWith(client, 'but-key', deny(`ca/key/${own}`));
      assert.equal(await ask(...existing), status, own);
    }
    for (const own of [issuer.id, issuer.name, 'default']) {
      const ask = await personWith(client, 'but-issuer', deny(`ca/issuer/${own}`));
      for (const sent of [{ issuer_ref: 'default' }, { issuer_ref: '' }, {}]) {
        await passes(ask, ['POST', 'ca/roles/other', sent], `${own} ${JSON.stringify(sent)}`);
      }
    }
    // What a role says already is not said by who changes something else.
    await client.call('POST', 'ca/roles/web', { issuer_ref: issuer.name });
    const ask = await personWith(client, 'but-issuer', deny(`ca/issuer/${issuer.name}`));
    await passes(ask, ['PATCH', 'ca/roles/web', { ttl: '1h' }], 'something else of the role');
    const chain = ['self'];
    await client.call('PATCH', `ca/issuer/${issuer.id}`, { manual_chain: chain });
    await passes(ask, ['PATCH', `ca/issuer/${issuer.id}`, { manual_chain: [issuer.id] }], 'itself');
  });
});
