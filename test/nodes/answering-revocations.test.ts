// Certificates are revoked, CRLs read and OCSP answered on several threads: what one of them was told is what all of them say.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { crlMemory } from '../../src/pki/crl/publishing.operations.ts';
import { nameShard, shardOf } from '../../src/pki/crl/shards.ts';
import { type Certificate, parseCertificate } from '../../src/x509/certificate.ts';
import { formatSerial, parseSerial } from '../../src/x509/serial.ts';
import { parseCrl } from '../support/crl.ts';
import { eachPlace, type Place } from '../support/engines.ts';
import { CONNECTIONS, Everywhere, watchHandedOn } from '../support/everywhere.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { readOcspVerdict } from '../support/ocsp-response.ts';
import { PUBLIC_LISTENER } from '../support/public-listener.ts';
import { storageOf } from '../support/seeded-broker.ts';
import { startTestServer } from '../support/server.ts';

const THREADS = 4;
const AT_ONCE = { auto_rebuild: false };
const IN_TIME = { auto_rebuild: true };

type Scope = { after(stop: () => void | Promise<void>): void };

async function start(scope: Scope, place: Place) {
  const client = await startTestServer(scope, {
    config: {
      threads: THREADS,
      storage: storageOf(place),
      public_listener: PUBLIC_LISTENER,
    },
    jobs: [],
  });
  const url = `http://127.0.0.1:${client.running.public_address?.port}`;
  const open = new Everywhere(scope, { url });
  return { ...client, open, everywhere: new Everywhere(scope, client) };
}

type Server = Awaited<ReturnType<typeof start>>;

let mounts = 0;

async function newMount({ call, everywhere }: Server, key: object = { key_type: 'ec' }) {
  mounts += 1;
  const mount = `pki${mounts}`;
  await call('POST', `sys/mounts/${mount}`, { type: 'pki' });
  const root = { common_name: 'Root', ...key };
  const made = await call('POST', `${mount}/root/generate/internal`, root);
  const ca = certificateOf(made.textAt('data.certificate'));
  await call('POST', `${mount}/roles/web`, { allow_any_name: true, key_type: 'ec' });
  const issue = async () => {
    const issued = await call('POST', `${mount}/issue/web`, ISSUE);
    const serial_number = issued.textAt('data.serial_number');
    return { serial_number, private_key: issued.textAt('data.private_key') };
  };
  return {
    mount,
    ca,
    issue,
    async issueSome(count: number): Promise<string[]> {
      const some: string[] = [];
      while (some.length < count) some.push((await issue()).serial_number);
      return some;
    },
    async configure(config: object): Promise<void> {
      assert.equal((await call('POST', `${mount}/config/crl`, config)).status, 200);
    },
    async revoke(number: number, serial_number: string) {
      const revoked = await everywhere.askOne(number, 'POST', `${mount}/revoke`, { serial_number });
      assert.equal(revoked.status, 200, revoked.body);
      return JSON.parse(revoked.body);
    },
    read: (path: string) => everywhere.ask('GET', `${mount}/${path}`, undefined, ''),
    async askOcsp(serial: string, nonce?: Uint8Array) {
      const asked = questionOf(ca, serial, nonce);
      const answers = await everywhere.ask('POST', `${mount}/ocsp`, asked, '');
      return answers.map(({ bytes }) => nameOf(readOcspVerdict(bytes)));
    },
  };
}

/** A signature takes tenths of a second. */
const SLOW_KEY = { key_type: 'slhdsa-sha2-s', key_bits: 128, ttl: '700h' };
const ISSUE = { common_name: 'www.example.com', ttl: '1h' };

const certificateOf = (pem: string): Certificate =>
  parseCertificate(parsePem(pem)[0]?.der ?? new Uint8Array());

function questionOf(ca: Certificate, serial: string, nonce?: Uint8Array): Uint8Array {
  const { subject, subjectPublicKeyInfo } = ca;
  const serialNumber = parseSerial(serial) as Uint8Array;
  return encodeOcspRequest({
    ...{ issuer: subject, subjectPublicKeyInfo, serialNumber, hash: 'sha1' },
    ...(nonce && { nonce }),
  });
}

const nameOf = (verdict: ReturnType<typeof readOcspVerdict>): string =>
  typeof verdict === 'string' ? verdict : 'revoked';

/** Serial numbers on a CRL in any of the forms in which it is read. */
function listedIn({ body, bytes }: { body: string; bytes: Buffer }): Set<string> {
  const text = body.startsWith('{') ? JSON.parse(body).data : undefined;
  const pem: string = text ? (text.certificate ?? text.crl) : body;
  const der = pem.startsWith('-----') ? parsePem(pem)[0]?.der : bytes;
  const { entries } = parseCrl(der ?? new Uint8Array());
  return new Set([...entries()].map(({ serialNumber }) => formatSerial(serialNumber)));
}

const allOf = (answers: readonly string[]): string[] => [...new Set(answers)];

const FORMS = [
  'crl',
  'crl/pem',
  'cert/crl',
  'cert/crl/raw',
  'cert/crl/raw/pem',
  'issuer/default/crl',
  'issuer/default/crl/der',
  'issuer/default/crl/pem',
];

eachPlace('revocations on answering threads', (newPlace) => {
  let server: Server;
  const stops: (() => void | Promise<void>)[] = [];
  before(async () => {
    server = await start({ after: (stop) => void stops.push(stop) }, await newPlace());
  });
  after(async () => {
    for (let stop = stops.pop(); stop; stop = stops.pop()) await stop();
  });

  test('none of it is handed on to the thread that supervises', async () => {
    const { mount, issueSome, configure, askOcsp } = await newMount(server);
    await configure({ enable_delta: true, auto_rebuild: true });
    const [serial_number = ''] = await issueSome(1);
    const handed = watchHandedOn(server.running.app);
    const revoke = `${mount}/revoke`;
    assert.deepEqual(await server.everywhere.statuses('POST', revoke, { serial_number }), [200]);
    for (const form of [...FORMS, 'crl/delta', 'crl/shard/all']) {
      for (const asked of [server.everywhere, server.open]) {
        const statuses = await asked.statuses('GET', `${mount}/${form}`, undefined, '');
        assert.deepEqual(statuses, [200], form);
      }
    }
    await askOcsp(serial_number);
    assert.deepEqual(allOf(handed), []);
  });

  test('what one of them revokes is on the list that any other gives, and revoked by OCSP', async () => {
    const { mount, issueSome, askOcsp, configure, revoke, read } = await newMount(server);
    await configure(AT_ONCE);
    const serials = await issueSome(FORMS.length);
    for (const [at, form] of FORMS.entries()) {
      const serial = serials[at] ?? '';
      assert.deepEqual(allOf(await askOcsp(serial)), ['good']);
      await revoke(at * 7, serial);
      const [lists, others, verdicts] = await Promise.all([
        read(form),
        server.open.ask('GET', `${mount}/${form}`, undefined, ''),
        askOcsp(serial),
      ]);
      assert.deepEqual(allOf(verdicts), ['revoked']);
      for (const list of [...lists, ...others]) {
        assert.deepEqual([...listedIn(list)].sort(), serials.slice(0, at + 1).sort(), form);
      }
    }
  });

  test('of many at the same time each is on the list that is asked for after it', async () => {
    const { mount, issueSome, configure, revoke, read } = await newMount(server);
    await configure(AT_ONCE);
    const serials = await issueSome(CONNECTIONS);
    await Promise.all(
      serials.map(async (serial, at) => {
        await revoke(at, serial);
        for (const other of [at, at + 13, at + 29]) {
          const list = await server.everywhere.askOne(other, 'GET', `${mount}/crl`);
          assert.ok(listedIn(list).has(serial));
        }
      }),
    );
    const lists = (await read('crl')).map(({ bytes }) => bytes.toString('hex'));
    assert.equal(allOf(lists).length, 1, 'all of them give the same');
  });

  test('the same by several of them is revoked once, at one time', async () => {
    const { mount, issueSome } = await newMount(server);
    const [serial_number = ''] = await issueSome(1);
    const answers = await server.everywhere.ask('POST', `${mount}/revoke`, { serial_number });
    const times = answers.map(({ body }) => JSON.parse(body).data.revocation_time_rfc3339);
    assert.equal(allOf(times).length, 1);
    const listed = await server.call('LIST', `${mount}/certs/revoked`);
    assert.deepEqual(listed.field('data.keys'), [serial_number]);
  });

  test('with auto_rebuild lists change in time, and answers by OCSP at once', async () => {
    const { mount, issueSome, configure, askOcsp, revoke, read } = await newMount(server);
    await configure(IN_TIME);
    await read('crl');
    const [serial = ''] = await issueSome(1);
    await revoke(3, serial);
    const former = await read('crl');
    assert.ok(former.every((list) => listedIn(list).size === 0));
    assert.deepEqual(allOf(await askOcsp(serial)), ['revoked']);
    assert.equal((await server.call('GET', `${mount}/crl/rotate`)).status, 200);
    const present = await read('crl');
    assert.ok(present.every((list) => listedIn(list).has(serial)));
  });

  test('the list is built soon after a revocation, though nobody reads it', async () => {
    const { mount, issueSome, configure, revoke } = await newMount(server);
    await configure(AT_ONCE);
    const [serial = ''] = await issueSome(1);
    await revoke(11, serial);
    const built = async () => (await storedCrl(server, mount))?.entries;
    while ((await built()) !== 1) await new Promise((resolve) => setTimeout(resolve, 20));
  });

  test('a list is in memory once, whoever gives it', async () => {
    const { mount, read } = await newMount(server);
    const forms = ['crl', 'crl/pem', 'issuer/default/crl/der'];
    for (const form of forms) await read(form);
    const stored = await storedCrl(server, mount);
    const place = `${stored?.mount_id}/${stored?.class}`;
    const { crl } = crlMemory(server.running.app).cache.findAny(place) ?? {};
    assert.ok(crl);
    const end = crl.der.length - 1;
    for (const byte of [1, 2]) {
      // Nobody is told of it: who had a copy would not know.
      crl.der[end] = byte;
      for (const form of ['crl', 'issuer/default/crl/der']) {
        const lists = await read(form);
        assert.deepEqual([...new Set(lists.map(({ bytes }) => bytes[end]))], [byte], form);
      }
    }
  });

  test('deltas and shards are as new on all of them as complete lists', async () => {
    const { mount, issueSome, configure, revoke, read } = await newMount(server);
    const points = 'http://crl.example/{{issuer_id}}/{{crl_shard}}';
    const urls = { enable_templating: true, crl_distribution_points: points };
    assert.equal((await server.call('POST', `${mount}/config/urls`, urls)).status, 200);
    await configure({ crl_shards: 2, ...AT_ONCE });
    for (const serial of await issueSome(4)) {
      await revoke(5, serial);
      const of = nameShard(shardOf(serial, 2));
      const shards = await read(`crl/shard/${of}`);
      assert.ok(shards.every((list) => listedIn(list).has(serial)));
    }
    await configure({ crl_shards: 0, enable_delta: true, ...IN_TIME });
    const [serial = ''] = await issueSome(1);
    await read('crl/delta');
    await revoke(8, serial);
    assert.equal((await server.call('GET', `${mount}/crl/rotate-delta`)).status, 200);
    const deltas = await read('crl/delta');
    assert.ok(deltas.every((list) => listedIn(list).has(serial)));
  });

  test('a list that may not be as long stays as it was, on all of them', async () => {
    const { issueSome, configure, revoke, read } = await newMount(server);
    await configure({ max_crl_entries: 1, ...AT_ONCE });
    const [first = '', second = ''] = await issueSome(2);
    await revoke(1, first);
    await read('crl');
    const { warnings } = await revoke(2, second);
    assert.match(warnings[0], /max_crl_entries/);
    for (const list of await read('crl')) assert.deepEqual([...listedIn(list)], [first]);
  });

  test('whoever has the key revokes by it on any of them, and nobody else', async () => {
    const { mount, issue } = await newMount(server);
    const { serial_number, private_key } = await issue();
    for (const [what, key, status] of [
      ['another EC key', (await issue()).private_key, 400],
      ['an RSA key', rsaKey(), 400],
      ['its own key', private_key, 200],
    ] as const) {
      const body = { serial_number, private_key: key };
      const path = `${mount}/revoke-with-key`;
      assert.deepEqual(await server.everywhere.statuses('POST', path, body), [status], what);
    }
  });

  test('an RSA key proves a certificate on any of them, too', async () => {
    const { mount } = await newMount(server);
    await server.call('POST', `${mount}/roles/web`, { allow_any_name: true, key_type: 'rsa' });
    const issued = await server.call('POST', `${mount}/issue/web`, ISSUE);
    const body = {
      serial_number: issued.textAt('data.serial_number'),
      private_key: issued.textAt('data.private_key'),
    };
    const path = `${mount}/revoke-with-key`;
    const wrong = { ...body, private_key: rsaKey() };
    assert.deepEqual(await server.everywhere.statuses('POST', path, wrong), [400]);
    assert.deepEqual(await server.everywhere.statuses('POST', path, body), [200]);
  });

  test('a responder that answers for an issuer has one key for all of them', async () => {
    const { mount, configure, issueSome, ca } = await newMount(server, { key_type: 'rsa' });
    await configure({ ocsp_delegated_responder: true });
    const [serial = ''] = await issueSome(1);
    const asked = questionOf(ca, serial, new Uint8Array(16));
    const answers = await server.everywhere.ask('POST', `${mount}/ocsp`, asked, '');
    const responders = allOf(answers.map(({ bytes }) => responderIn(bytes)));
    assert.equal(responders.length, 1);
    assert.notEqual(responders[0], '');
  });

  test('an answer that takes long to sign is signed once for all of them', async () => {
    const { mount, ca } = await newMount(server, SLOW_KEY);
    const asked = questionOf(ca, '01:02:03');
    const answers = await server.everywhere.ask('POST', `${mount}/ocsp`, asked, '');
    assert.deepEqual(allOf(answers.map(({ status }) => String(status))), ['200']);
    assert.equal(allOf(answers.map(({ bytes }) => bytes.toString('base64'))).length, 1);
  });

  test('an answer that is kept is given by all of them, and by none once configuration has changed', async () => {
    const { mount, issueSome, ca, configure } = await newMount(server);
    const [serial = ''] = await issueSome(1);
    const asked = questionOf(ca, serial);
    const ask = async () => {
      const answers = await server.everywhere.ask('POST', `${mount}/ocsp`, asked, '');
      return answers.map(({ bytes }) => bytes.toString('hex'));
    };
    await server.everywhere.askOne(0, 'POST', `${mount}/ocsp`, asked);
    const former = allOf(await ask());
    // Its age may have come to ten seconds meanwhile, on a machine that is busy.
    assert.ok(former.length <= 2, 'it is signed once, not once a thread');
    await configure({ ocsp_disable: true });
    const statuses = await server.everywhere.statuses('POST', `${mount}/ocsp`, asked, '');
    assert.deepEqual(statuses, [401]);
  });
});

/** What is stored of the one CRL of a mount. */
async function storedCrl({ running }: Server, mount: string) {
  const [found] = await running.app.db
    .selectFrom('pki_crl')
    .innerJoin('mount', 'mount.id', 'pki_crl.mount_id')
    .select(['pki_crl.mount_id', 'class', 'entries'])
    .where('mount.path', '=', `${mount}/`)
    .execute();
  return found;
}

const rsaKey = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();

/** The serial number of the certificate that an answer brings along. */
function responderIn(answer: Uint8Array): string {
  const bytes = Buffer.from(answer);
  for (let at = bytes.length - 4; at >= 0; at -= 1) {
    if (bytes[at] !== 0x30 || bytes[at + 1] !== 0x82) continue;
    try {
      return parseCertificate(bytes.subarray(at, at + 4 + bytes.readUInt16BE(at + 2))).serial;
    } catch {}
  }
  return '';
}
