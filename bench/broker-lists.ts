import type { Resource } from '../src/broker/resource/resource.ts';
import { insertResource } from '../src/broker/resource/store.ts';
import { SEED_DEFAULTS } from '../src/config/seed.ts';
import { startHere } from './here.ts';

// How long pages of long lists take, and what they cost: 100,000 targets in 100 projects, for a
// caller who sees all of them, one project of them, or single ones. SQLite.
//
//     node bench/broker-lists.ts [targets]

const TARGETS = Number(process.argv[2] ?? 100_000);
const PROJECTS = 100;
const ROUNDS = 15;
const ORG = 'o_1234567890';

const server = await startHere(SEED_DEFAULTS);
let clock = Date.now() - TARGETS * 10 - 3_600_000;

interface Answer {
  status: number;
  text: string;
}

async function call(method: string, path: string, token: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${server.url}/${path}`, {
    method,
    headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

async function make(path: string, token: string, body: unknown): Promise<string> {
  const answer = await call('POST', path, token, body);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`);
  return String(JSON.parse(answer.text).id);
}

async function logIn(login_name: string): Promise<string> {
  const attributes = { login_name, password: 'password' };
  const answer = await call('POST', 'auth-methods/ampw_1234567890:authenticate', '', {
    attributes,
  });
  return String(JSON.parse(answer.text).attributes.token);
}

const admin = await logIn('admin');

const projects: string[] = [];
for (let at = 0; at < PROJECTS; at++) {
  const flags = 'skip_admin_role_creation=true&skip_default_role_creation=true';
  projects.push(
    await make(`scopes?${flags}`, admin, { scope_id: ORG, type: 'project', name: `p${at}` }),
  );
}

function makeTarget(at: number): Resource {
  const scope_id = projects[at % PROJECTS] ?? '';
  clock += 10;
  return {
    id: `ttcp_${String(at).padStart(10, '0')}`,
    type: 'target',
    subtype: 'tcp',
    scope_id,
    container_id: scope_id,
    owner_id: '',
    name: `target ${at}`,
    description: 'made to be listed',
    unique_key: null,
    version: 1,
    created_ms: clock,
    updated_ms: clock,
    body: {
      address: '10.0.0.1',
      session_max_seconds: 28_800,
      session_connection_limit: -1,
      worker_filter: '',
      egress_worker_filter: '',
      default_port: 22,
      default_client_port: 0,
      storage_bucket_id: '',
      enable_session_recording: false,
    },
    secret_sealed: null,
  };
}

for (let at = 0; at < TARGETS; at += 2_000) {
  const count = Math.min(2_000, TARGETS - at);
  await server.app.store.commit(
    Array.from({ length: count }, (_, next) => insertResource(makeTarget(at + next))),
  );
}

/** Somebody whose one role grants this. */
async function person(name: string, grants: string[], grant_scope_ids: string[]): Promise<string> {
  await make('accounts', admin, {
    auth_method_id: 'ampw_1234567890',
    attributes: { login_name: name, password: 'password' },
  });
  const token = await logIn(name);
  const own = await call('GET', `auth-tokens/${token.split('_').slice(0, 2).join('_')}`, admin);
  const role = await make('roles', admin, { scope_id: 'global' });
  const steps: [string, object][] = [
    ['set-grants', { grant_strings: grants }],
    ['set-grant-scopes', { grant_scope_ids }],
    ['set-principals', { principal_ids: [String(JSON.parse(own.text).user_id)] }],
  ];
  for (const [at, [verb, body]] of steps.entries()) {
    const done = await call('POST', `roles/${role}:${verb}`, admin, { version: at + 1, ...body });
    if (done.status !== 200) throw new Error(done.text);
  }
  return token;
}

// What everybody may do in a development server would let everybody see everything.
const roles = JSON.parse((await call('GET', 'roles?scope_id=global', admin)).text).items;
for (const { id, name, version } of roles) {
  if (name !== 'Authenticated User Grants') continue;
  await call('POST', `roles/${id}:set-grants`, admin, { version, grant_strings: [] });
}

const some = Array.from(
  { length: TARGETS / 100 },
  (_, at) => `ttcp_${String(at * 100 + 7).padStart(10, '0')}`,
);
const callers: [name: string, token: string][] = [
  ['all 100,000', admin],
  [
    'one project in 100',
    await person('one', ['ids=*;type=target;actions=list,read'], [projects[3] ?? '']),
  ],
  [
    'single ones, 1 in 100',
    await person(
      'ids',
      ['type=target;actions=list', `ids=${some.join(',')};actions=read`],
      ['this', 'descendants'],
    ),
  ],
];

async function measure(name: string, work: () => Promise<Answer>): Promise<Answer> {
  let answer = await work();
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now();
    answer = await work();
    times.push(performance.now() - started);
  }
  const { user, system } = process.cpuUsage(before);
  if (answer.status !== 200) throw new Error(answer.text);
  times.sort((a, b) => a - b);
  const middle = times[Math.floor(ROUNDS / 2)] ?? 0;
  const cpu = (user + system) / 1000 / ROUNDS;
  const items = JSON.parse(answer.text).items?.length ?? 0;
  console.log(
    `${name.padEnd(56)} ${middle.toFixed(1).padStart(7)} ms ${cpu.toFixed(1).padStart(7)} ms CPU ${String(items).padStart(6)} items`,
  );
  return answer;
}

const EVERYWHERE = 'targets?scope_id=global&recursive=true';
for (const [name, token] of callers) {
  const first = await measure(`${name}: first page of 1,000`, () =>
    call('GET', `${EVERYWHERE}&page_size=1000`, token),
  );
  let list_token = JSON.parse(first.text).list_token;
  await measure(`${name}: second page`, () =>
    call('GET', `${EVERYWHERE}&page_size=1000&list_token=${list_token}`, token),
  );
  for (let last = first; JSON.parse(last.text).response_type === 'delta'; ) {
    last = await call('GET', `${EVERYWHERE}&page_size=1000&list_token=${list_token}`, token);
    list_token = JSON.parse(last.text).list_token;
  }
  await measure(`${name}: refresh with nothing new`, () =>
    call('GET', `${EVERYWHERE}&page_size=1000&list_token=${list_token}`, token),
  );
  await measure(`${name}: page of 25`, () => call('GET', `${EVERYWHERE}&page_size=25`, token));
}
await measure('all: page of 25 of one project', () =>
  call('GET', `targets?scope_id=${projects[5]}&page_size=25`, admin),
);
await measure('all: a filter that one in 100,000 matches', () =>
  call('GET', `${EVERYWHERE}&filter=${encodeURIComponent('"/item/name" == "target 5"')}`, admin),
);

const READS = 4_000;
const before = process.cpuUsage();
const started = performance.now();
for (let round = 0; round < READS / 50; round++) {
  await Promise.all(
    Array.from({ length: 50 }, (_, at) =>
      call('GET', `targets/ttcp_${String(round * 50 + at).padStart(10, '0')}`, admin),
    ),
  );
}
const { user, system } = process.cpuUsage(before);
console.log(
  `reads of a target, 50 at once, with what the client does: ${((user + system) / READS).toFixed(0)} µs CPU each, ${Math.round(READS / ((performance.now() - started) / 1000))}/s`,
);
await server.stop();
