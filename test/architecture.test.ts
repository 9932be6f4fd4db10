import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { findCircle, folderGraphs, IMPORTS, type Import, SOURCES } from './support/source.ts';

const files = SOURCES;

/**
 * From the top down: an import, of a value or of a type, goes down this list or stays in its room. Rooms of
 * one floor take nothing from each other.
 */
const FLOORS: readonly (readonly string[])[] = [
  ['main.ts'],
  // Commands for operators and users.
  ['cli'],
  // Builds one server: what it can reach, routes, jobs, listeners, documents about them.
  ['start'],
  // Listeners, and the dialects that read, permit, run and answer.
  ['http'],
  // What is counted: of requests by the listeners, of certificates by the CA.
  ['metrics'],
  // The data path of sessions, in threads of its own or in a process that stands alone.
  ['worker'],
  ['broker'],
  // Authorities of certificates of SSH, and of X.509.
  ['ssh-authority'],
  ['pki'],
  ['system'],
  ['seal'],
  // Tokens, policies, identity, log-ins, leases, wrapping.
  ['access'],
  // The trail and its sinks.
  ['audit'],
  // The table of mounts; what is done to mounts is the system's.
  ['mounts'],
  // Modules of devices that hold keys, each in a process of its own.
  ['pkcs11'],
  // What everything stands on, as types: the application, who asks, routes, jobs, leases.
  ['app'],
  // Pure rules of permission; envelope encryption; the configuration.
  ['acl', 'barrier', 'config'],
  // Pure formats; the seam to the database.
  ['x509', 'ssh', 'store'],
  // What all listeners do with connections: whose they are, handshakes in turns.
  ['sockets'],
  // Knows nothing of the product.
  ['core'],
];

const roomOf = (file: string): string => file.split('/')[1] ?? '';
const floorOf = (file: string): number => FLOORS.findIndex((rooms) => rooms.includes(roomOf(file)));

test('an import goes down, or stays in its room', () => {
  assert.deepEqual([...new Set(files.filter((file) => floorOf(file) < 0).map(roomOf))], []);
  assert.deepEqual(
    broken(
      ({ from, to }) =>
        to.startsWith('src/') && roomOf(from) !== roomOf(to) && floorOf(to) <= floorOf(from),
    ),
    [],
  );
});

test('neither folders nor files take from one another in a circle, at any depth', () => {
  const circles = [...folderGraphs(IMPORTS)].flatMap(([folder, graph]) => {
    const circle = findCircle(graph);
    return circle ? [`${folder}: ${circle.join(' → ')}`] : [];
  });
  assert.deepEqual(circles, []);
});

/** Rooms that may touch the world outside, whatever a file is called. */
const EFFECTS = ['main.ts', 'cli', 'start', 'http', 'worker', 'store', 'sockets'];
const hasEffects = (file: string): boolean => EFFECTS.includes(roomOf(file));
/** What a file may do, by the end of its name: `operations.ts`, or `expiration.operations.ts`. */
const layerOf = (file: string): string | undefined =>
  /[/.](routes|operations|jobs|store|client|pool|thread)\.ts$/.exec(file)?.[1];
const isPure = (file: string): boolean =>
  file.startsWith('src/') && !hasEffects(file) && layerOf(file) === undefined;

function broken(rule: (one: Import) => boolean): string[] {
  return IMPORTS.filter((one) => rule(one)).map(({ from, to }) => `${from} → ${to}`);
}

/** Reads addresses and touches no network. */
const PURE_PARTS = /^\{ (?:(?:isIP|isIPv4|isIPv6|BlockList)(?:, )?)+ \} node:net$/;

test('a pure file takes nothing in but pure files and types', () => {
  const outside =
    /^node:(fs|net|http|https|child_process|worker_threads|timers|process|os|dns|tls|sqlite)/;
  assert.deepEqual(
    broken(
      ({ from, to, names, typeOnly }) =>
        isPure(from) &&
        !typeOnly &&
        !PURE_PARTS.test(`${names}${to}`) &&
        (outside.test(to) || (to.startsWith('src/') && !isPure(to))),
    ),
    [],
  );
});

test('a store knows the database and pure files, never an operation or a route', () => {
  assert.deepEqual(
    broken(
      ({ from, to }) =>
        !hasEffects(from) &&
        layerOf(from) === 'store' &&
        /[/.](operations|routes|jobs)\.ts$/.test(to),
    ),
    [],
  );
});

test('an operation never reaches back to a route, nor to how requests are read', () => {
  assert.deepEqual(
    broken(
      ({ from, to, typeOnly }) =>
        (layerOf(from) === 'operations' || layerOf(from) === 'jobs') &&
        !hasEffects(from) &&
        !typeOnly &&
        (/[/.]routes\.ts$/.test(to) || to.startsWith('src/http/')),
    ),
    [],
  );
});

test('the CA and the broker ask each other, and never read each other’s tables', () => {
  const sideOf = (file: string): string | undefined => /^src\/(pki|broker)\//.exec(file)?.[1];
  assert.deepEqual(
    broken(({ from, to }) => {
      const [own, other] = [sideOf(from), sideOf(to)];
      return own !== undefined && other !== undefined && own !== other && layerOf(to) === 'store';
    }),
    [],
  );
});

test('how answers are encoded knows no operation and no table', () => {
  assert.deepEqual(
    broken(
      ({ from, to, typeOnly }) =>
        /^src\/http\/\w+\/wire\.ts$/.test(from) &&
        !typeOnly &&
        (layerOf(to) !== undefined || to.startsWith('src/store/')),
    ),
    [],
  );
});

/** The list of dialects, and what describes them all in one document. */
const KNOW_DIALECTS = ['src/http/dialects.ts', 'src/start/specs.ts'];

test('the frame knows no dialect, and no dialect another', () => {
  const dialectOf = (file: string): string | undefined => /^src\/http\/(\w+)\//.exec(file)?.[1];
  assert.deepEqual(
    broken(
      ({ from, to }) =>
        from.startsWith('src/http/') &&
        dialectOf(to) !== undefined &&
        dialectOf(from) !== dialectOf(to) &&
        !KNOW_DIALECTS.includes(from),
    ),
    [],
  );
});

test('only the store knows that there are two engines', () => {
  assert.deepEqual(
    broken(
      ({ from, to }) => !from.startsWith('src/store/') && (to === 'pg' || to === 'node:sqlite'),
    ),
    [],
  );
});

test('only the entry acts on import, and nothing imports it', () => {
  assert.deepEqual(
    broken(({ to }) => to === 'src/main.ts'),
    [],
  );
  const acting = files.filter((file) => {
    const bare = /^import '[^']+';/m.test(readFileSync(file, 'utf8'));
    return bare;
  });
  assert.deepEqual(acting, []);
});

/** The tables that `on conflict … do update` may write, and why nothing that others did is lost. */
const UPSERTS: Readonly<Record<string, string>> = {
  'src/access/auth/lockout/store.ts login_failure': 'counts, in the statement',
  'src/access/policies/store.ts policy': 'each write says the whole policy; its version counts',
  'src/audit/request-headers/store.ts audit_header': 'each write says the whole row',
  'src/audit/store.ts audit_cut': "the job's fence is in the write set",
  'src/audit/store.ts audit_sink': 'each node feeds its own sinks, one step after the other',
  'src/broker/workers/store.ts worker_status': 'each worker says the whole of its own row',
  'src/pki/mount-state/store.ts pki_authority': 'only while the version is what was read',
  'src/pki/mount-state/store.ts pki_config': "the authority's version is in the write set",
  'src/pki/mount-state/counts.store.ts pki_count': 'counts, in the statement',
  'src/pki/crl/store.ts pki_crl': 'only in place of an older CRL that covers less',
  'src/pki/mount-state/revocations.store.ts pki_revision':
    'counts, or only grows, in the statement',
  'src/pki/tidy/store.ts pki_tidy':
    'begun only where nothing is under way; the configuration only while it is what was read',
  'src/seal/store.ts seal_next': 'each write says the whole seal, and holds the one before',
  'src/ssh-authority/store.ts ssh_role': 'each write says the whole role',
};

test('a row that is merged with what was sent is never written by an upsert: see saveAsRead', () => {
  const found = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split(/\.insertInto\(/)
      .slice(1)
      .filter((statement) => /doUpdateSet|\bon conflict\b.*\bdo update\b/is.test(statement))
      .map((statement) => `${file} ${/^'(\w+)'/.exec(statement)?.[1]}`),
  );
  assert.deepEqual([...new Set(found)].sort(), Object.keys(UPSERTS).sort());
  const written = files.filter((file) =>
    /['"`][^'"`]*\bon conflict\b[^'"`]*\bdo update\b/i.test(readFileSync(file, 'utf8')),
  );
  assert.deepEqual(written, [], 'written out in SQL');
});

/** What is written without a record of its own, and why that is enough. */
const UNRECORDED: Readonly<Record<string, string>> = {
  'src/access/leases/turns.operations.ts':
    'in whose turn is ended what is due: each end has its record',
  'src/access/auth/lockout/operations.ts': 'the log-in that failed has its record',
  'src/access/endings/precedence.operations.ts': 'that a request goes first, and that it is done',
  'src/access/standing/operations.ts': 'the record is in the set that is given to it',
  'src/access/permissions/authentication.operations.ts':
    'the request that takes a use has its record',
  'src/access/tokens/expiration.operations.ts':
    'what is removed there was ended, and that recorded',
  'src/audit/operations.ts': 'what is written are the records',
  'src/audit/sinks/jobs.ts': 'how far records were handed on',
  'src/broker/iam/authentication.operations.ts':
    'when a log-in was used last: the request has its record',
  'src/broker/recordings/recordings/operations.ts':
    'that a removal was begun, which is recorded when it is done',
  'src/broker/recordings/recordings/writing.operations.ts':
    'how far the file of a channel goes: its beginning and its end have records',
  'src/broker/resource/lists/jobs.ts': 'what lists remember of removals that were recorded',
  'src/broker/sessions/connections/operations.ts': 'how many bytes were carried',
  'src/broker/sessions/jobs.ts': 'that sessions are used',
  'src/broker/workers/enrolment.operations.ts':
    'that a key is not used any more: the next one has its record',
  'src/broker/workers/report.operations.ts': 'that a worker is heard of',
  'src/cli/operator/restore.ts': 'the record is in the set',
  'src/start/jobs.ts': 'who has a job',
  'src/access/held-runs.operations.ts': 'that it goes on',
  'src/pki/tidy/run.operations.ts': 'how far a tidying has come: what it removes has its records',
  'src/pki/crl/publishing.operations.ts': 'a CRL of revocations that were recorded',
  'src/pki/expiration/delivery.operations.ts': 'that a warning was taken, or is tried again',
  'src/pki/expiration/walking.operations.ts': 'a warning of what was recorded, and how far they go',
  'src/pki/issuance/names.operations.ts':
    'names that lead to nothing until their certificate is there',
  'src/pkcs11/first-keys.operations.ts': 'who may make a key: what it is made for has its record',
  'src/store/job-lock.ts': 'who has a job',
  'src/store/restore.ts': 'the restore has its record',
  'src/worker/hops/operations.ts': 'what one server asks another one to pass on to a worker',
};

test('what is written without a record is known by its place', () => {
  const found = files.filter((file) => /store\.commit\(/.test(readFileSync(file, 'utf8')));
  assert.deepEqual(
    found.map((file) => file.replaceAll('\\', '/')).sort(),
    Object.keys(UNRECORDED).sort(),
  );
});

/** Files that parse URLs by themselves, and of what. */
const URL_PARSERS: Readonly<Record<string, string>> = {
  'src/broker/recordings/buckets/s3.client.ts':
    'the address of a bucket, which was parsed when it was written',
  'src/broker/resource/address.ts': 'an IPv6 address in brackets',
  'src/broker/vault/client/answer.ts':
    'the address of a store, which was parsed when it was written',
  'src/broker/vault/client/talk.client.ts': 'the same',
  'src/broker/vault/leases/asking.operations.ts': 'the same',
  'src/broker/vault/tokens/token.ts': 'the same',
  'src/cli/api-client.ts': "a user's own configuration",
  'src/core/domain-names.ts': 'whatever has a host that is short enough',
  'src/core/postgres-url.ts': "a server's own configuration",
  'src/pki/expiration/webhook.client.ts':
    'the address of a receiver, which was parsed when it was written',
  'src/pki/external-policy/client.ts':
    'the address of a service, which was parsed when it was written',
  'src/pki/external-policy/talk.client.ts': 'the same',
  'src/seal/transit.client.ts': "a server's own configuration",
};
/** Files that normalize texts, and what keeps marks from being put into order pair by pair. */
const NORMALIZERS: Readonly<Record<string, string>> = {
  'src/broker/vault/client/repeated.ts': 'marks are taken away first',
  'src/core/domain-names.ts': 'there are thirty at the most',
  'src/x509/directory-subtrees.ts':
    'of more than thirty on one letter the others are taken away first',
};
/** Of this program. */
const OWN_FILES = /new URL\([^)]*import\.meta\.url|new URL\(`[^`]*`, beside\)/g;

test('names and URLs of others are converted in one place, which knows how long they may be', () => {
  const textOf = (file: string): string => readFileSync(file, 'utf8').replaceAll(OWN_FILES, '');
  const having = (what: RegExp): string[] => files.filter((file) => what.test(textOf(file))).sort();
  assert.deepEqual(having(/domainTo(?:ASCII|Unicode)/), ['src/core/domain-names.ts']);
  assert.deepEqual(having(/\.normalize\(['")]/), Object.keys(NORMALIZERS));
  assert.deepEqual(having(/new URL\(|\bURL\.(?:can)?[pP]arse\(/), Object.keys(URL_PARSERS));
});

/** Ways to cite what readers do not have; rules of `docs/compatibility/` and standards are cited by name. */
const CITATIONS: readonly RegExp[] = [
  /\b(?:contract|trap|clause|checklist|issue|ticket|todo)s? #?\d/i,
  /\btrap \$\{/,
  /\b(?:design|seed|contract|spec(?:ification)?|house),? (?:section|chapter|rule|row|page|table|point|§)/i,
  /\b(?:the|our|as the) (?:seed|contract|spec) (?:says|demands|has it|wants|asks|wins|names)\b/i,
  /\b(?:style-guide|house|names|clients|(?:pki|target)-contract)\.md\b/,
  /\/work\/|\bshared\/(?:spec|seeds)\b/,
  /\btest\([`'"][A-Z]{1,2}\d+\b/,
  /(?:['"`]|, |\/\/ )(?:E|A|R|N|I|C|V|O|T|M|G|K)\d{1,2}(?:: | [a-z])/,
];

test('no comment, no test and no document cites a paper that is not here', () => {
  const own = 'test/architecture.test.ts';
  const places = ['{src,test,bench}/**/*.ts', 'docs/{adr,compatibility,guides}/*.md', '*.md'];
  const citing = globSync(places)
    .filter((file) => file !== own)
    .flatMap((file) => {
      const text = readFileSync(file, 'utf8');
      return CITATIONS.flatMap((cited) => text.match(cited)?.[0] ?? []).map(
        (found) => `${file}: ${found}`,
      );
    });
  assert.deepEqual(citing, []);
});

test('what cites a paper that is not here is found, and what cites one that is, is not', () => {
  const isFound = (text: string): boolean => CITATIONS.some((cited) => cited.test(text));
  for (const text of [
    'as contract 3.7 has it',
    "test('I23: a serial number', ",
    "['V9 no duration', ",
    "'a missing name, N14: unless'",
    'design, section 5',
    'the seed demands it',
    'see names.md',
  ]) {
    assert.ok(isFound(text), text);
  }
  for (const text of [
    '/** @see P-12, B-7 and RFC 5280 §4.2.1.9 */',
    'the seed data of a development server',
    'SPEC = sys/internal/specs/openapi',
    "common_name: 'R2', key_type",
    'the contract of a store, on both engines',
  ]) {
    assert.ok(!isFound(text), text);
  }
});
