import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from 'kysely';
import { copyIssuer, copyKey, storeSettings, urlsOf } from '../support/full-mount.ts';
import {
  type Bench,
  type Contender,
  type ContestCase,
  contestAll,
  must,
} from '../support/racing.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';
import { holdsNobodyUp } from '../support/turns.ts';

/** A mount holds so many issuers and keys, of so many bytes, whoever asks for more, and however often at once. */

const client = await startTestServer({ after });
const { call } = client;

const MOST = 1000;
/** Of certificates, URLs and chains. */
const MOST_BYTES = 2 << 20;

/** A mount with an issuer of the same name, and with a key of that name. */
async function makeMount({ call }: Pick<Client, 'call'>, name: string): Promise<void> {
  await must(call('POST', `sys/mounts/${name}`, { type: 'pki' }));
  const root = { common_name: 'R', key_type: 'ec', issuer_name: name, key_name: name };
  await must(call('POST', `${name}/root/generate/internal`, root));
}

const refused = (reply: Reply, why: RegExp): void => {
  assert.equal(reply.status, 400, reply.text.slice(0, 300));
  assert.match(reply.text, why);
};

test('a mount has at most a thousand issuers, and one more when one is removed', async () => {
  await makeMount(client, 'many');
  await copyIssuer(client, 'many', MOST - 2);
  const another = () => call('POST', 'many/root/generate/existing', { common_name: 'R' });
  await must(another());
  refused(await another(), /the mount has 1000 issuers, and may have at most 1000/);
  await must(call('DELETE', 'many/issuer/i1'));
  await must(another());
  refused(await another(), /1000 issuers/);
  await must(call('POST', 'many/issuer/i2', { issuer_name: 'renamed' }));
  await must(call('POST', 'many/keys/generate/internal', { key_type: 'ec' }));
});

test('nobody is held up while the CRLs of a thousand issuers are made', async () => {
  await makeMount(client, 'lists');
  await copyIssuer(client, 'lists', MOST - 1);
  await holdsNobodyUp(async () => {
    const rotated = await must(call('GET', 'lists/crl/rotate'));
    assert.equal(rotated.field('data.success'), true);
  });
});

test('a mount has at most a thousand keys, those of roots counted', async () => {
  await makeMount(client, 'keys');
  await copyKey(client, 'keys', MOST - 2);
  await must(call('POST', 'keys/keys/generate/internal', { key_type: 'ec' }));
  const why = /the mount has 1000 keys, and may have at most 1000/;
  refused(await call('POST', 'keys/keys/generate/internal', { key_type: 'ec' }), why);
  const root = { common_name: 'R', key_type: 'ec' };
  refused(await call('POST', 'keys/root/generate/internal', root), why);
  await must(call('POST', 'keys/root/generate/existing', { common_name: 'R', key_ref: 'keys' }));
  await must(call('DELETE', 'keys/key/k1'));
  await must(call('POST', 'keys/root/generate/internal', root));
});

test('issuers of a mount have two megabytes of certificates and URLs, and may have less at any time', async () => {
  await makeMount(client, 'bytes');
  const urls = urlsOf(60_000);
  const settings = { issuing_certificates: urls, ocsp_servers: urls };
  await must(call('PATCH', 'bytes/issuer/bytes', settings));
  await copyIssuer(client, 'bytes', 16);
  const why = new RegExp(`would have 2\\d{6} bytes, and may have at most ${MOST_BYTES}`);
  const grown = { crl_distribution_points: urlsOf(30_000) };
  await must(call('PATCH', 'bytes/issuer/i1', grown));
  refused(await call('PATCH', 'bytes/issuer/i2', grown), why);
  await must(call('PATCH', 'bytes/issuer/i1', { issuer_name: 'same' }));
  await copyIssuer(client, 'bytes', 1, { id: sql`'x' || substr(id, 2)`, name: sql`'over'` });
  refused(await call('POST', 'bytes/root/generate/existing', { common_name: 'R' }), why);
  await must(call('PATCH', 'bytes/issuer/i2', { leaf_not_after_behavior: 'permit' }));
  await must(call('POST', 'bytes/issuer/i2', { issuer_name: 'i2' }));
  refused(await call('PATCH', 'bytes/issuer/i3', grown), why);
  await must(call('DELETE', 'bytes/issuer/i4'));
  await must(call('PATCH', 'bytes/issuer/i3', grown));
});

test("a list of an issuer's or a mount's URLs has at most 65,536 characters", async () => {
  await makeMount(client, 'urls');
  for (const path of ['urls/issuer/urls', 'urls/config/urls']) {
    await must(call('PATCH', path, { ocsp_servers: urlsOf(65_536) }).then(orPost(path, 65_536)));
    for (const field of ['ocsp_servers', 'issuing_certificates', 'crl_distribution_points']) {
      refused(await call('POST', path, { [field]: urlsOf(65_537) }), new RegExp(field));
    }
  }
});

/** What takes no PATCH is written whole. */
const orPost =
  (path: string, characters: number) =>
  (reply: Reply): Reply | Promise<Reply> =>
    reply.status === 405 ? call('POST', path, { ocsp_servers: urlsOf(characters) }) : reply;

const names = (count: number, make: (at: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => make(at));
const dns = (count: number): string => names(count, (at) => `n${at}.test`).join();
const ips = (count: number): string[] => names(count, (at) => `10.0.0.${at}`);

const NAMES: [fields: object, why: RegExp | undefined, name: string][] = [
  [{ alt_names: dns(100) }, undefined, 'a hundred names'],
  [{ alt_names: dns(101) }, /alt_names: 101 names of a root, at most 100/, 'one more'],
  [{ alt_names: dns(60), ip_sans: ips(40) }, undefined, 'a hundred of two kinds'],
  [{ alt_names: dns(60), ip_sans: ips(41) }, /alt_names, ip_sans: 101 names/, 'one more of them'],
  [{ uri_sans: names(101, (at) => `urn:a:${at}`) }, /uri_sans: 101/, 'too many URIs'],
  [{ other_sans: names(101, (at) => `1.2.3;UTF8:${at}`) }, /other_sans: 101/, 'too many others'],
  [
    { alt_names: names(100, (at) => `${'x.'.repeat(60)}n${at}.test`).join() },
    undefined,
    'a hundred long ones',
  ],
  [{ organization: names(3, (at) => `${at}${'x'.repeat(8000)}`) }, undefined, 'a long subject'],
  [
    { organization: names(4, (at) => `${at}${'x'.repeat(8000)}`) },
    /64\d{3} bytes, at most 63488 are accepted/,
    'a longer subject',
  ],
];
for (const [at, [fields, why, name]] of NAMES.entries()) {
  test(`a root with ${name} is ${why ? 'refused' : 'made'}`, async () => {
    const mount = `names-${at}`;
    await makeMount(client, mount);
    const body = { common_name: 'R', key_type: 'ec', ...fields };
    const reply = await call('POST', `${mount}/root/generate/internal`, body);
    if (why) refused(reply, why);
    else assert.equal(reply.status, 200, reply.text.slice(0, 300));
  });
}

/** Ids of the issuers that `copyIssuer` made, from the first on. */
async function idsIn(mount: string): Promise<string[]> {
  const { keys } = (await must(call('LIST', `${mount}/issuers`))).field('data') as {
    keys: string[];
  };
  return keys;
}

test('a chain has at most 32 members', async () => {
  await makeMount(client, 'chain');
  await copyIssuer(client, 'chain', 40);
  const own = (await call('GET', 'chain/issuer/chain')).textAt('data.issuer_id');
  const others = (await idsIn('chain')).filter((id) => id !== own).slice(0, 32);
  const chainOf = (more: number) => ({ manual_chain: ['self', ...others.slice(0, more)] });
  refused(await call('PATCH', 'chain/issuer/chain', chainOf(32)), /manual_chain has 33 members/);
  await must(call('PATCH', 'chain/issuer/chain', chainOf(31)));
  const read = await must(call('GET', 'chain/issuer/chain/json', undefined, { token: '' }));
  assert.equal((read.field('data.ca_chain') as string[]).length, 32);
});

test('a chain has at most 256 KiB', async () => {
  await makeMount(client, 'fat');
  const organization = names(3, (at) => `${at}${'x'.repeat(8000)}`);
  for (const issuer_name of ['a', 'b', 'c', 'd']) {
    const root = { common_name: 'R', organization, issuer_name };
    await must(call('POST', 'fat/root/generate/existing', root));
  }
  const set = (manual_chain: string[]) => call('PATCH', 'fat/issuer/a', { manual_chain });
  await must(set(['self', 'b', 'c']));
  refused(await set(['self', 'b', 'c', 'd']), /manual_chain has 26\d{4} bytes: at most 262144/);
  await must(set(['self', 'b', 'c', 'fat']));
});

test('a chain that was stored before is read, kept by other changes, and sent as far as one may go', async () => {
  await makeMount(client, 'before');
  await copyIssuer(client, 'before', MOST);
  const all = await idsIn('before');
  const own = (await call('GET', 'before/issuer/before')).textAt('data.issuer_id');
  const manual_chain = [own, ...all.filter((id) => id !== own)];
  const urls = urlsOf(400_000);
  await storeSettings(client, 'before', { manual_chain, ocsp_servers: urls });
  await must(call('PATCH', 'before/issuer/before', { leaf_not_after_behavior: 'permit' }));
  const read = await must(call('GET', 'before/issuer/before'));
  assert.deepEqual(read.field('data.manual_chain'), manual_chain);
  assert.deepEqual(read.field('data.ocsp_servers'), urls);
  await must(call('POST', 'before/roles/r', { ttl: '1h' }));
  for (const path of ['issuer/before/json', 'cert/ca_chain', 'ca_chain', 'issuer/before/pem']) {
    let reply: Reply | undefined;
    await holdsNobodyUp(
      async () => {
        reply = await call('GET', `before/${path}`, undefined, { token: '' });
      },
      { what: path, attempts: 1 },
    );
    assert.equal(reply?.status, 200, path);
    const sent = (reply?.text ?? '').split('-----BEGIN').length - 1;
    assert.ok(sent <= 2 * 32 + 1, `${path}: ${sent} certificates`);
  }
});

/** Two requests of which there is room for one. */
function forOne(
  name: string,
  fill: (bench: Bench, mount: string) => Promise<void>,
  plan: (mount: string) => [Contender, Contender],
  why: RegExp,
): ContestCase {
  return {
    name,
    async setUp(bench) {
      const mount = `m${bench.next()}`;
      await makeMount(bench.maker, mount);
      await fill(bench, mount);
      const [one, other] = plan(mount);
      return { one, other, judge: async ({ slower }) => refused(slower.reply, why) };
    },
  };
}

const root = { common_name: 'R', key_type: 'ec' };
const growth = { ocsp_servers: urlsOf(30_000) };

contestAll('of two requests at once for the last room in a mount', [
  forOne(
    'one root is made',
    ({ maker }, mount) => copyIssuer(maker, mount, MOST - 2),
    (mount) => [
      { method: 'POST', path: `${mount}/root/generate/internal`, body: root },
      { method: 'POST', path: `${mount}/issuers/generate/root/internal`, body: root },
    ],
    /the mount has 1000 issuers/,
  ),
  forOne(
    'one key is made',
    ({ maker }, mount) => copyKey(maker, mount, MOST - 2),
    (mount) => [
      { method: 'POST', path: `${mount}/keys/generate/internal`, body: { key_type: 'ec' } },
      { method: 'POST', path: `${mount}/root/generate/internal`, body: root },
    ],
    /the mount has 1000 keys/,
  ),
  forOne(
    "one issuer's settings grow",
    async ({ maker }, mount) => {
      const settings = {
        issuing_certificates: urlsOf(60_000),
        crl_distribution_points: urlsOf(60_000),
      };
      await must(maker.call('PATCH', `${mount}/issuer/${mount}`, settings));
      await copyIssuer(maker, mount, 16);
    },
    (mount) => [
      { method: 'PATCH', path: `${mount}/issuer/i1`, body: growth },
      { method: 'PATCH', path: `${mount}/issuer/i2`, body: growth },
    ],
    /would have 2\d{6} bytes/,
  ),
]);
