import { LEASE_MS } from '../../src/app/job.ts';
// Two server processes over one PostgreSQL: what is written on one is in force on the other,
// and what must be exact is so with both at work.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { parsePem } from '../../src/core/pem.ts';
import { chainStart, verifyChain } from '../../src/core/record-chain.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { formatSerial, parseSerial } from '../../src/x509/serial.ts';
import { type Crl, parseCrl } from '../support/crl.ts';
import { connectTo, type Place, postgresPlace } from '../support/engines.ts';
import {
  initialiseNode,
  inReverse,
  type NodeProcess,
  newDirectory,
  type Scope,
  settingsOf,
  startNodeProcess,
} from '../support/node-process.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { readOcspVerdict } from '../support/ocsp-response.ts';
import type { Client, Reply } from '../support/server.ts';

const POSTGRES = process.env.GATEHOUSE_TEST_POSTGRES;
const skip =
  POSTGRES === undefined &&
  'two nodes need PostgreSQL: set GATEHOUSE_TEST_POSTGRES (test/support/postgres.ts)';

/** Within this time a change on one node is in force on the others. */
const IN_FORCE_MS = 1000;

type Call = Client['call'];

async function ok(answer: Promise<Reply>): Promise<Reply> {
  const reply = await answer;
  assert.ok(reply.status < 300, `${reply.status} ${reply.text}`);
  return reply;
}

/** Runs a statement beside the servers, as an administrator would. */
async function beside(place: Place, sql: string) {
  const client = await connectTo(place);
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

function derOf(reply: Reply): Uint8Array {
  return parsePem(reply.textAt('data.certificate'))[0]?.der ?? new Uint8Array();
}

/** How many of these requests were answered with each status. */
async function countStatuses(answers: Promise<Reply>[]): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { status } of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** As many requests on each of the two, all under way at once. */
function onBoth(times: number, calls: readonly Call[], ask: (call: Call) => Promise<Reply>) {
  return Array.from({ length: times }, () => calls.map(ask)).flat();
}

describe('two nodes over one database', { skip }, () => {
  let place: Place;
  let a: Call;
  let b: Call;
  let nodes: NodeProcess[];
  const scope = inReverse({ after });

  before(async () => {
    place = await newPlace(scope);
    const directory = newDirectory(scope);
    // Together, on an empty database: both want to make its tables.
    nodes = await Promise.all(
      ['a', 'b'].map((name) => startNodeProcess(scope, settingsOf(place, directory, name))),
    );
    const [first, second] = nodes;
    assert.ok(first && second);
    const token = await initialiseNode(first);
    a = first.as(token);
    b = second.as(token);
    while ((await b('GET', 'sys/health')).status !== 200) await delay(20);
    await ok(a('POST', 'sys/auth/userpass', { type: 'userpass' }));
    await ok(a('POST', 'sys/auth/approle', { type: 'approle' }));
    await newAuthority('ca');
  });

  async function newAuthority(mount: string): Promise<Reply> {
    await ok(a('POST', `sys/mounts/${mount}`, { type: 'pki' }));
    const root = await ok(
      a('POST', `${mount}/root/generate/internal`, { common_name: mount, key_type: 'ec' }),
    );
    const role = { allow_any_name: true, key_type: 'ec', max_ttl: '24h' };
    await ok(a('POST', `${mount}/roles/any`, role));
    await inForce(async () => (await b('GET', `${mount}/roles/any`)).status === 200);
    return root;
  }

  /** Milliseconds from now until it is so. */
  async function inForce(ask: () => Promise<boolean>): Promise<number> {
    const start = performance.now();
    for (;;) {
      // A look that began in time counts, however long the machine takes to answer.
      const began_ms = performance.now() - start;
      if (await ask()) return began_ms;
      if (began_ms < IN_FORCE_MS) continue;
      // A machine that takes long to answer anything is given some answers' time more.
      const asked = performance.now();
      await b('GET', 'sys/health');
      const most_ms = IN_FORCE_MS + 20 * (performance.now() - asked);
      assert.ok(began_ms < most_ms, `not in force after ${began_ms.toFixed()} ms`);
    }
  }

  async function issue(call: Call, mount = 'ca'): Promise<Reply> {
    return ok(call('POST', `${mount}/issue/any`, { common_name: 'www.example' }));
  }

  /** A change, its undoing and how both show on the other node. */
  interface Change {
    what: string;
    begin(): Promise<unknown>;
    change(): Promise<unknown>;
    holds(): Promise<boolean>;
    undo(): Promise<unknown>;
    undone(): Promise<boolean>;
  }

  function changes(): Change[] {
    let token = '';
    let issuers: string[] = [];
    const status = async (answer: Promise<Reply>, wanted: number) =>
      (await answer).status === wanted;
    const policy = (capability: string) =>
      ok(
        a('POST', 'sys/policies/acl/p', {
          policy: `path "sys/mounts" { capabilities = ["${capability}"] }`,
        }),
      );
    const logIn = (password: string) => b('POST', 'auth/userpass/login/ann', { password });
    const setDefault = (id: string | undefined) =>
      ok(a('POST', 'ca/config/issuers', { default: id }));
    const isDefault = async (id: string | undefined) =>
      (await b('GET', 'ca/config/issuers')).field('data.default') === id;
    return [
      {
        what: 'a role',
        begin: () =>
          ok(
            a('POST', 'ca/roles/web', {
              allowed_domains: 'a.example',
              allow_subdomains: true,
              ttl: '1h',
              key_type: 'ec',
            }),
          ),
        change: () =>
          ok(a('PATCH', 'ca/roles/web', { allowed_domains: ['a.example', 'b.example'] })),
        holds: () => status(b('POST', 'ca/issue/web', { common_name: 'x.b.example' }), 200),
        undo: () => ok(a('PATCH', 'ca/roles/web', { allowed_domains: ['a.example'] })),
        undone: () => status(b('POST', 'ca/issue/web', { common_name: 'x.b.example' }), 400),
      },
      {
        what: 'a policy',
        begin: async () => {
          await policy('deny');
          const made = await ok(a('POST', 'auth/token/create', { policies: ['p'] }));
          token = made.textAt('auth.client_token');
        },
        change: () => policy('read'),
        holds: () => status(b('GET', 'sys/mounts', undefined, { token }), 200),
        undo: () => policy('deny'),
        undone: () => status(b('GET', 'sys/mounts', undefined, { token }), 403),
      },
      {
        what: 'a token',
        begin: async () => {},
        change: async () => {
          token = (await ok(a('POST', 'auth/token/create', {}))).textAt('auth.client_token');
        },
        holds: () => status(b('GET', 'sys/mounts', undefined, { token }), 200),
        undo: () => ok(a('POST', 'auth/token/revoke', { token })),
        undone: () => status(b('GET', 'sys/mounts', undefined, { token }), 403),
      },
      {
        what: 'a mount',
        begin: async () => {},
        change: () => ok(a('POST', 'sys/mounts/other', { type: 'pki' })),
        holds: () => status(b('GET', 'other/config/crl'), 200),
        undo: () => ok(a('DELETE', 'sys/mounts/other')),
        undone: () => status(b('GET', 'other/config/crl'), 404),
      },
      {
        what: 'the tuning of a mount',
        begin: async () => {},
        change: () => ok(a('POST', 'sys/mounts/ca/tune', { max_lease_ttl: '2h' })),
        holds: async () =>
          (await b('GET', 'sys/mounts/ca/tune')).field('data.max_lease_ttl') === 7200,
        undo: () => ok(a('POST', 'sys/mounts/ca/tune', { max_lease_ttl: '768h' })),
        undone: async () =>
          (await b('GET', 'sys/mounts/ca/tune')).field('data.max_lease_ttl') === 768 * 3600,
      },
      {
        what: 'the default issuer',
        begin: async () => {
          const first = (await a('GET', 'ca/config/issuers')).textAt('data.default');
          const made = await ok(
            a('POST', 'ca/root/generate/internal', { common_name: 'Second', key_type: 'ec' }),
          );
          issuers = [first, made.textAt('data.issuer_id')];
        },
        change: () => setDefault(issuers[1]),
        holds: () => isDefault(issuers[1]),
        undo: () => setDefault(issuers[0]),
        undone: () => isDefault(issuers[0]),
      },
      {
        what: 'a password',
        begin: () => ok(a('POST', 'auth/userpass/users/ann', { password: 'old' })),
        change: () => ok(a('POST', 'auth/userpass/users/ann/password', { password: 'new' })),
        holds: () => status(logIn('new'), 200),
        undo: () => ok(a('POST', 'auth/userpass/users/ann/password', { password: 'old' })),
        undone: async () => !(await status(logIn('new'), 200)) && (await status(logIn('old'), 200)),
      },
    ];
  }

  test('what is changed on one is in force on the other within a second', async (t) => {
    for (const { what, begin, change, holds, undo, undone } of changes()) {
      await begin();
      await inForce(undone).catch(() => {});
      await change();
      const changed = await inForce(holds);
      await undo();
      const back = await inForce(undone);
      t.diagnostic(`${what}: ${changed.toFixed()} ms, and back ${back.toFixed()} ms`);
    }
  });

  test('also when the notice of it is lost', async (t) => {
    let slowest = 0;
    const lose = () =>
      beside(
        place,
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'gatehouse watch' and datname = current_database()`,
      );
    for (const { begin, change, holds, undo, undone } of changes()) {
      await begin();
      await inForce(undone).catch(() => {});
      await lose();
      await change();
      slowest = Math.max(slowest, await inForce(holds));
      await lose();
      await undo();
      slowest = Math.max(slowest, await inForce(undone));
    }
    t.diagnostic(`the slowest: ${slowest.toFixed()} ms`);
  });

  test('also when nothing but the periodic look can tell of it', async (t) => {
    const policy = 'path "sys/mounts" { capabilities = ["read"] }';
    await ok(a('POST', 'sys/policies/acl/silent', { policy }));
    const made = await ok(a('POST', 'auth/token/create', { policies: ['silent'] }));
    const token = made.textAt('auth.client_token');
    for (const call of [a, b]) await ok(call('GET', 'sys/mounts', undefined, { token }));
    await beside(
      place,
      "delete from policy where name = 'silent'; update config_version set version = version + 1",
    );
    const seen = await Promise.all(
      [a, b].map((call) =>
        inForce(async () => (await call('GET', 'sys/mounts', undefined, { token })).status === 403),
      ),
    );
    t.diagnostic(`seen after ${seen.map((ms) => ms.toFixed()).join(' and ')} ms`);
  });

  async function askOcsp(call: Call, issuer: Uint8Array, serial: string) {
    const { subject, subjectPublicKeyInfo } = parseCertificate(issuer);
    const request = encodeOcspRequest({
      issuer: subject,
      subjectPublicKeyInfo,
      serialNumber: parseSerial(serial) ?? new Uint8Array(),
      hash: 'sha256',
    });
    return readOcspVerdict((await ok(call('POST', 'ca/ocsp', request, { token: '' }))).bytes);
  }

  async function fetchCrl(call: Call, mount = 'ca'): Promise<Crl> {
    return parseCrl((await ok(call('GET', `${mount}/crl`, undefined, { token: '' }))).bytes);
  }

  test('a certificate revoked on one is revoked on the other at once', async () => {
    const issuer = derOf(await a('GET', 'ca/cert/ca'));
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const serial = (await issue(one)).textAt('data.serial_number');
      assert.equal(await askOcsp(other, issuer, serial), 'good');
      const revoked = await ok(one('POST', 'ca/revoke', { serial_number: serial }));
      const time = Number(revoked.field('data.revocation_time'));
      assert.deepEqual(await askOcsp(other, issuer, serial), { revoked_at: time });
      const listed = [...(await fetchCrl(other)).entries()].find(
        ({ serialNumber }) => formatSerial(serialNumber) === serial,
      );
      assert.equal(listed?.revocationTime, time);
    }
  });

  test('a certificate revoked on both at the same moment is revoked once', async () => {
    for (let i = 0; i < 20; i += 1) {
      const serial_number = (await issue(a)).textAt('data.serial_number');
      const answers = await Promise.all(
        onBoth(3, [a, b], (call) => ok(call('POST', 'ca/revoke', { serial_number }))),
      );
      const times = answers.map((one) => one.textAt('data.revocation_time_rfc3339'));
      assert.equal(new Set(times).size, 1, times.join());
      const read = await a('GET', `ca/cert/${serial_number}`);
      // Whole seconds are written without a fraction in one of them.
      assert.equal(
        Date.parse(read.textAt('data.revocation_time_rfc3339')),
        Date.parse(times[0] ?? ''),
      );
    }
  });

  test('CRLs built by both at once have numbers of their own, and none forgets what an earlier one said', async (t) => {
    await newAuthority('lists');
    // Only what is asked for is built.
    await ok(a('POST', 'lists/config/crl', { auto_rebuild: true }));
    await inForce(
      async () => (await b('GET', 'lists/config/crl')).field('data.auto_rebuild') === true,
    );
    const seen = new Map<bigint, Crl>();
    const look = async (call: Call): Promise<bigint> => {
      const crl = await fetchCrl(call, 'lists');
      const number = crl.crlNumber ?? 0n;
      const known = seen.get(number);
      assert.ok(
        known === undefined || Buffer.compare(known.raw, crl.raw) === 0,
        `two CRLs with the number ${number}`,
      );
      seen.set(number, crl);
      return number;
    };
    let builds = 0;
    const rotateOften = async (call: Call, other: Call) => {
      for (let i = 0; i < 60; i += 1) {
        const serial = (await issue(call, 'lists')).textAt('data.serial_number');
        await ok(call('POST', 'lists/revoke', { serial_number: serial }));
        const before = await look(other);
        await ok(call('GET', 'lists/crl/rotate'));
        builds += 1;
        const next = await look(other);
        assert.ok(next > before, `${before}, and after the rotation ${next}`);
        const listed = [...(seen.get(next)?.entries() ?? [])].map((e) =>
          formatSerial(e.serialNumber),
        );
        assert.ok(listed.includes(serial), 'a CRL asked for after a revocation lacks it');
      }
    };
    await Promise.all([a, b, a, b].map((call, at) => rotateOften(call, at % 2 ? a : b)));
    let before = new Set<string>();
    for (const number of [...seen.keys()].sort((x, y) => (x < y ? -1 : 1))) {
      const serials = new Set(
        [...(seen.get(number)?.entries() ?? [])].map((e) => formatSerial(e.serialNumber)),
      );
      assert.deepEqual([...before.difference(serials)], [], `what CRL ${number} has forgotten`);
      before = serials;
    }
    t.diagnostic(`${builds} rotations, ${seen.size} CRLs seen, ${before.size} revocations`);
  });

  test('a token with a number of uses is good for exactly so many on both together', async () => {
    for (const num_uses of [1, 7, 25]) {
      const made = await ok(a('POST', 'auth/token/create', { num_uses }));
      const token = made.textAt('auth.client_token');
      const counts = await countStatuses(
        onBoth(30, [a, b], (call) => call('GET', 'sys/mounts', undefined, { token })),
      );
      assert.deepEqual(counts, { 200: num_uses, 403: 60 - num_uses });
    }
  });

  test('a secret ID for one log-in is good for one on both together', async () => {
    for (let i = 0; i < 5; i += 1) {
      // A role each time: those who fail too often are no longer looked at.
      const role = `auth/approle/role/job${i}`;
      await ok(a('POST', role, { secret_id_num_uses: 1, token_policies: 'default' }));
      const role_id = (await ok(b('GET', `${role}/role-id`))).textAt('data.role_id');
      const made = await ok(a('POST', `${role}/secret-id`, {}));
      const secret_id = made.textAt('data.secret_id');
      const counts = await countStatuses(
        onBoth(10, [a, b], (call) =>
          call('POST', 'auth/approle/login', { role_id, secret_id }, { token: '' }),
        ),
      );
      assert.equal(counts[200], 1, JSON.stringify(counts));
      assert.deepEqual(Object.keys(counts), ['200', '400']);
    }
  });

  test('a wrapped answer is taken once on both together', async () => {
    for (let i = 0; i < 5; i += 1) {
      const wrapped = await ok(
        a('GET', 'sys/mounts', undefined, { headers: { 'x-vault-wrap-ttl': '60s' } }),
      );
      const token = wrapped.textAt('wrap_info.token');
      const counts = await countStatuses(
        onBoth(10, [a, b], (call) => call('POST', 'sys/wrapping/unwrap', undefined, { token })),
      );
      assert.deepEqual(counts, { 200: 1, 400: 19 });
    }
  });

  test('each has an audit chain of its own, and both are whole', async () => {
    for (const node of ['a', 'b']) {
      const records = await beside(
        place,
        `select seq::int, record, prev_hash, hash from audit_entry where node = '${node}' order by seq`,
      );
      assert.ok(records.length > 0);
      assert.ok(verifyChain(chainStart(node), records).intact, node);
    }
    for (const node of nodes)
      assert.doesNotMatch(node.log(), /"level":(50|60)/, 'an error was logged');
  });
});

test('each node has its own seal: unsealing or sealing one leaves the other as it is', {
  skip,
}, async (t) => {
  const scope = inReverse(t);
  const place = await newPlace(scope);
  const directory = newDirectory(scope);
  const [a, b] = await Promise.all(
    ['a', 'b'].map((name) =>
      startNodeProcess(scope, { ...settingsOf(place, directory, name), seal: { type: 'shamir' } }),
    ),
  );
  assert.ok(a && b);
  const made = await ok(a.as('')('PUT', 'sys/init', { secret_shares: 1, secret_threshold: 1 }));
  const token = made.textAt('root_token');
  const key = made.textAt('keys.0');
  const status = async (node: NodeProcess) => (await node.as('')('GET', 'sys/health')).status;
  const unseal = (node: NodeProcess) => ok(node.as('')('PUT', 'sys/unseal', { key }));
  await unseal(a);
  assert.deepEqual([await status(a), await status(b)], [200, 503]);
  assert.equal((await b.as(token)('GET', 'sys/mounts')).status, 503);
  await unseal(b);
  await ok(a.as(token)('PUT', 'sys/seal'));
  assert.deepEqual([await status(a), await status(b)], [503, 200]);
  await ok(b.as(token)('GET', 'sys/mounts'));
});

async function newPlace(scope: Scope): Promise<Place> {
  const place = await postgresPlace(POSTGRES ?? '');
  scope.after(() => place.remove());
  return place;
}

test('a job is done on one node at a time, and on another when that one is killed', {
  skip,
}, async (t) => {
  const scope = inReverse(t);
  const place = await newPlace(scope);
  const directory = newDirectory(scope);
  // Initialised first: nothing is done while sealed.
  const first = await startNodeProcess(scope, settingsOf(place, directory, 'first'));
  await initialiseNode(first);
  await first.kill();

  interface Page {
    node: string;
    at_ms: number;
    fence: number;
  }
  const pages: Page[] = [];
  const children = ['a', 'b'].map((node) => {
    const config = {
      ...settingsOf(place, directory, node),
      listener: { address: '127.0.0.1:0', tls_disable: true },
      proxy_listener: { address: '127.0.0.1:0' },
      log_level: 'error',
    };
    const script = new URL('../support/job-process.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [script, JSON.stringify(config)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    createInterface({ input: child.stdout }).on('line', (line) =>
      pages.push({ node, ...JSON.parse(line) }),
    );
    scope.after(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    return { node, child };
  });
  const enough = async (of: () => Page[]) => {
    const deadline = performance.now() + LEASE_MS + 60_000;
    while (of().length < 20) {
      assert.ok(performance.now() < deadline, 'nobody does the job');
      await delay(20);
    }
  };
  await enough(() => pages);
  const holder = pages[0]?.node;
  assert.deepEqual([...new Set(pages.map(({ node }) => node))], [holder]);
  const killed = children.find(({ node }) => node === holder);
  assert.ok(killed);
  killed.child.kill('SIGKILL');
  await once(killed.child, 'exit');
  const others = () => pages.filter(({ node }) => node !== holder);
  await enough(others);

  const last = pages.findLast(({ node }) => node === holder);
  const [next] = others();
  assert.ok(last && next);
  assert.ok(next.fence > last.fence, 'the fence grows');
  const pause = next.at_ms - last.at_ms;
  assert.ok(pause >= LEASE_MS - 3000 && pause <= LEASE_MS + 3000, `it moved after ${pause} ms`);
  t.diagnostic(`moved after ${pause} ms`);
});
