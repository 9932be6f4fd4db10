import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, test } from 'node:test';
import { startBroker } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

// A certificate that a library makes for a session ends with the first of: the session, the ttl that
// the library asks for, what the role and the mount allow, and the issuer.

const broker = await startBroker({ after });
const { client, make, project, admin } = broker;
const root = (method: string, path: string, body?: unknown) => client.call(method, path, body);
const must = async (reply: Promise<Reply>): Promise<Reply> => {
  const done = await reply;
  assert.ok(done.status < 300, done.text);
  return done;
};

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const later = (seconds: number): string =>
  new Date(Math.floor(Date.now() / 1000 + seconds) * 1000).toISOString().replace('.000', '');

let made = 0;

interface Ends {
  session: number;
  /** Of the library. */
  ttl?: string;
  role?: object;
  issuer?: object;
  root?: string;
  mount?: string;
}

/** A session with a library's certificate, from a CA of its own. */
async function use(ends: Ends): Promise<Reply> {
  made += 1;
  const mount = `ends${made}`;
  await must(root('POST', `sys/mounts/${mount}`, { type: 'pki' }));
  const ca = { common_name: 'Root', key_type: 'ec', ttl: ends.root ?? '700h' };
  await must(root('POST', `${mount}/root/generate/internal`, ca));
  if (ends.issuer) await must(root('POST', `${mount}/issuer/default`, ends.issuer));
  if (ends.mount) {
    await must(root('POST', `sys/mounts/${mount}/tune`, { max_lease_ttl: ends.mount }));
  }
  const role = { allow_any_name: true, key_type: 'ec', max_ttl: '100h', ...ends.role };
  await must(root('POST', `${mount}/roles/web`, role));
  const store = await make('credential-stores', {
    scope_id: project,
    type: 'authority',
    attributes: { mount },
  });
  const { ttl } = ends;
  const library = await must(
    root('POST', 'credential-libraries', {
      credential_store_id: store,
      attributes: { role: 'web', common_name: 'a.test', ...(ttl === undefined ? {} : { ttl }) },
    }),
  );
  const target = await make('targets', {
    scope_id: project,
    type: 'tcp',
    name: `ends-${made}`,
    address: '127.0.0.1',
    session_max_seconds: ends.session,
    attributes: { default_port: 1 },
  });
  await must(
    admin('POST', `targets/${target}:add-credential-sources`, {
      version: 1,
      brokered_credential_source_ids: [library.textAt('id')],
    }),
  );
  return admin('POST', `targets/${target}:authorize-session`, {});
}

/** Seconds that a session's certificate is valid from now on. */
function lifeOf(reply: Reply): number {
  assert.equal(reply.status, 200, reply.text);
  const { credentials } = JSON.parse(reply.text) as {
    credentials: { credential: { certificate: string } }[];
  };
  const pem = credentials[0]?.credential.certificate ?? '';
  return (new X509Certificate(pem).validToDate.getTime() - Date.now()) / 1000;
}

const cases: [why: string, ends: Ends, seconds: number][] = [
  ['the session, where nobody says anything', { session: HOUR }, HOUR],
  ['the ttl of the library', { session: HOUR, ttl: '10m' }, 10 * MINUTE],
  ['the session, of which the ttl is longer', { session: HOUR, ttl: '2h' }, HOUR],
  ['the session, of which the ttl is longer by far', { session: HOUR, ttl: '87600h' }, HOUR],
  ['the role', { session: DAY, role: { max_ttl: '2h' } }, 2 * HOUR],
  ['the role, beyond which the ttl is cut', { session: DAY, ttl: '5h', role: { max_ttl: '2h' } }, 2 * HOUR],
  ['the ttl of the role, where the library has none', { session: DAY, role: { ttl: '90m' } }, 1.5 * HOUR],
  ['the session, whatever end the role names', { session: HOUR, role: { not_after: later(30 * DAY) } }, HOUR],
  ['the end that the role names', { session: DAY, role: { not_after: later(HOUR) } }, HOUR],
  ['the session, also where ends are not bound', { session: HOUR, role: { not_after: later(DAY), not_after_bound: 'permit' } }, HOUR],
  ['the mount', { session: DAY, mount: '3h' }, 3 * HOUR],
  ['the mount, where the role has no longest ttl', { session: DAY, ttl: '5h', role: { max_ttl: 0 }, mount: '3h' }, 3 * HOUR],
  ['the issuer that cuts', { session: DAY, root: '4h', issuer: { leaf_not_after_behavior: 'truncate' } }, 4 * HOUR],
  ['the session, though the issuer permits more than itself', { session: 6 * HOUR, root: '4h', issuer: { leaf_not_after_behavior: 'permit' } }, 6 * HOUR],
]; // biome-ignore format: one table

for (const [why, ends, seconds] of cases) {
  test(`a library's certificate ends with ${why}`, async () => {
    const life = lifeOf(await use(ends));
    assert.ok(life <= seconds, `${life} of ${seconds}`);
    assert.ok(life > seconds - MINUTE, `${life} of ${seconds}`);
  });
}

const refused: [why: string, ends: Ends][] = [
  ['the issuer ends before', { session: DAY, root: '4h', issuer: { leaf_not_after_behavior: 'err' } }],
  ['a bound of the role would be passed', { session: DAY, role: { ttl: '20h', not_after_bound: later(HOUR) } }],
  ['the end of the role has passed', { session: DAY, role: { not_after: later(-HOUR) } }],
]; // biome-ignore format: one table

for (const [why, ends] of refused) {
  test(`a library makes none when ${why}`, async () => {
    const reply = await use(ends);
    assert.ok(reply.status >= 400 && reply.status < 500, reply.text);
    assert.doesNotMatch(reply.text, /authorization_token|BEGIN/);
  });
}

const forms: [ttl: string, taken: boolean][] = [
  ['10m', true],
  ['600', true],
  ['1h1h', true],
  ['0', true],
  ['-1h', false],
  ['1e9', false],
  ['0x10', false],
  ['１０m', false],
  ['10m ', false],
  ['99999999999999999999h', false],
  ['{{.User.Name}}', false],
  ['NaN', false],
]; // biome-ignore format: one table

for (const [ttl, taken] of forms) {
  test(`a library's ttl ${JSON.stringify(ttl)} is ${taken ? 'taken, and passes no session' : 'refused'}`, async () => {
    if (taken) {
      assert.ok(lifeOf(await use({ session: HOUR, ttl })) <= HOUR);
      return;
    }
    await assert.rejects(use({ session: HOUR, ttl }), /InvalidArgument/);
  });
}
