// Credentials that a library makes for a session: none is handed out once what it rests on has gone
// or been narrowed, and none stays when its session ends or never came about.

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { revokeSessionCredentials } from '../../src/broker/sessions/credentials/termination.operations.ts';
import { make, newPlace, type Place } from '../support/broker-places.ts';
import { type Bench, callAs, must, type RaceCase, raceAll } from '../support/racing.ts';
import type { Reply } from '../support/server.ts';
import { type FakeVault, startFakeVault } from '../support/vault.ts';

const ALL = ['ids=*;type=*;actions=*'];
const ROLE = { allow_any_name: true, key_type: 'ec', ttl: '1h' };

/** A place whose target brings what a library of the person themselves makes. */
interface Librarian extends Place {
  library: string;
  /** Of the library. */
  library_store: string;
  /** Path of the authority. */
  mount: string;
  /** What the person may do there. */
  policy: string;
  entity: string;
}

async function giveLibrary(
  bench: Bench,
  place: Place,
  store: object,
  attributes: object,
  version = 3,
): Promise<Pick<Librarian, 'library' | 'library_store'>> {
  const { call } = bench.maker;
  const grants = { version, grant_strings: ALL };
  await must(call('POST', `roles/${place.role}:set-grants`, grants));
  const library_store = await make(bench, 'credential-stores', {
    scope_id: place.project,
    ...store,
  });
  const saved = await must(
    callAs(call, place.token)('POST', 'credential-libraries', {
      credential_store_id: library_store,
      ...attributes,
    }),
  );
  const library = saved.textAt('id');
  await must(
    call('POST', `targets/${place.target}:set-credential-sources`, {
      version,
      brokered_credential_source_ids: [library],
      injected_application_credential_source_ids: [],
    }),
  );
  return { library, library_store };
}

const policyOf = (mount: string): string => `path "${mount}/issue/*" { capabilities = ["update"] }`;

async function newLibrarian(bench: Bench): Promise<Librarian> {
  const { call } = bench.maker;
  const place = await newPlace(bench, { own: true });
  const mount = `pki${bench.next()}`;
  await must(call('POST', `sys/mounts/${mount}`, { type: 'pki' }));
  const root = { common_name: 'Root', key_type: 'ec' };
  await must(call('POST', `${mount}/root/generate/internal`, root));
  await must(call('POST', `${mount}/roles/web`, ROLE));
  const policy = `issuer-${bench.next()}`;
  await must(call('PUT', `sys/policies/acl/${policy}`, { policy: policyOf(mount) }));
  const self = await must(callAs(call, place.token)('GET', 'auth/token/lookup-self'));
  const entity = self.textAt('data.entity_id');
  await must(call('POST', `identity/entity/id/${entity}`, { policies: [policy] }));
  const library = await giveLibrary(
    bench,
    place,
    { type: 'authority', attributes: { mount } },
    { attributes: { role: 'web', common_name: 'a.test' } },
  );
  return { ...place, ...library, mount, policy, entity };
}

const path = ({ target }: Place): string => `targets/${target}:authorize-session`;

const authorize = ({ maker }: Bench, place: Place): Promise<Reply> =>
  maker.call('POST', path(place), {}, { token: place.token });

/** What is due for a session: its leases have run out, and nothing of it is kept for a worker. */
async function requireDue({ remover }: Bench, session_id: string): Promise<void> {
  const { db, now } = remover.running.app;
  const prefix = `broker/sessions/${session_id}/`;
  const leases = await db.selectFrom('lease').select(['id', 'expires_at']).execute();
  const own = leases.filter(({ id }) => id.startsWith(prefix));
  for (const { expires_at } of own) assert.ok(expires_at <= now() / 1000, 'a lease is alive');
}

async function requireRevoked(bench: Bench, mount: string, made: Reply): Promise<void> {
  const id = made.textAt('session_id');
  await requireDue(bench, id);
  await revokeSessionCredentials(bench.remover.running.app, [id]);
  const serials = await must(bench.remover.call('LIST', `${mount}/certs/revoked`));
  assert.equal((serials.field('data.keys') as unknown[])?.length, 1, serials.text);
}

type Change = (bench: Bench, at: Librarian) => Promise<Reply>;

const withoutCertificate = (made: Reply): void => assert.doesNotMatch(made.text, /BEGIN|PRIVATE/);

/** What a certificate for a session rests on besides the session's own ground. */
const grounds: [name: string, change: Change][] = [
  [
    'its library',
    ({ remover }, at) => remover.call('DELETE', `credential-libraries/${at.library}`),
  ],
  [
    'the store of its library',
    ({ remover }, at) => remover.call('DELETE', `credential-stores/${at.library_store}`),
  ],
  ['its role', ({ remover }, { mount }) => remover.call('DELETE', `${mount}/roles/web`)],
  [
    'what its role allows',
    ({ remover }, { mount }) =>
      remover.call('POST', `${mount}/roles/web`, { ...ROLE, allow_any_name: false }),
  ],
  ['its issuer', ({ remover }, { mount }) => remover.call('DELETE', `${mount}/issuer/default`)],
  ['its authority', ({ remover }, { mount }) => remover.call('DELETE', `sys/mounts/${mount}`)],
  [
    'the policy of whoever saved its library',
    ({ remover }, { policy }) =>
      remover.call('PUT', `sys/policies/acl/${policy}`, { policy: policyOf('elsewhere') }),
  ],
  [
    'the policies of whoever saved its library',
    ({ remover }, { entity }) =>
      remover.call('POST', `identity/entity/id/${entity}`, { policies: [] }),
  ],
];

const certificates: RaceCase[] = grounds.map(([name, change]) => ({
  name: `a certificate for a session and ${name}`,
  refused: [400, 404, 412, 500],
  judge: withoutCertificate,
  async setUp(bench) {
    const at = await newLibrarian(bench);
    return {
      path: path(at),
      make: () => authorize(bench, at),
      remove: () => change(bench, at),
    };
  },
}));

/** What ends a session, with the credentials that it has and those that are being made for it. */
const ends: [name: string, end: (bench: Bench, at: Place) => Promise<Reply>][] = [
  ['its target', ({ remover }, { target }) => remover.call('DELETE', `targets/${target}`)],
  ['its project', ({ remover }, { project }) => remover.call('DELETE', `scopes/${project}`)],
  ['its user', ({ remover }, { person }) => remover.call('DELETE', `users/${person.user}`)],
];

const ended: RaceCase[] = ends.map(([name, end]) => ({
  name: `a session's certificate and ${name}`,
  refused: [401, 404],
  async setUp(bench) {
    const at = await newLibrarian(bench);
    return {
      path: path(at),
      make: () => authorize(bench, at),
      remove: () => end(bench, at),
      ended: (made) => requireRevoked(bench, at.mount, made),
    };
  },
}));

/** A Vault server for each case, so that all of its leases are the case's. */
async function startVault(): Promise<FakeVault> {
  const vault = await startFakeVault();
  after(() => vault.stop());
  return vault;
}

const vaultLibrary = (vault: FakeVault, name: string): [store: object, library: object] => [
  { type: 'vault', attributes: { address: vault.url, token: 'good' } },
  { type: 'vault-generic', name, attributes: { path: 'database/creds/app', http_method: 'GET' } },
];

/** The library that is removed. */
const LOST = 'lost';

const vaults: RaceCase[] = ends.map(([name, end]) => ({
  name: `a session's lease of a Vault server and ${name}`,
  refused: [401, 404],
  async setUp(bench) {
    const vault = await startVault();
    const place = await newPlace(bench, { own: true });
    await giveLibrary(bench, place, ...vaultLibrary(vault, 'one'));
    return {
      path: path(place),
      make: () => authorize(bench, place),
      remove: () => end(bench, place),
      async ended(made) {
        const id = made.textAt('session_id');
        await requireDue(bench, id);
        await revokeSessionCredentials(bench.remover.running.app, [id]);
        assert.equal(vault.leases.size, 0, 'it was given back');
      },
      async left() {
        assert.equal(vault.leases.size, 0, 'it was given back');
      },
    };
  },
}));

const removals: [name: string, remove: (bench: Bench, at: Library) => Promise<Reply>][] = [
  ['library', ({ remover }, at) => remover.call('DELETE', `credential-libraries/${at.library}`)],
  ['store', ({ remover }, at) => remover.call('DELETE', `credential-stores/${at.library_store}`)],
];

type Library = Pick<Librarian, 'library' | 'library_store'>;

/** Its session goes on, and so does what another library gave to it. */
const removed: RaceCase[] = removals.map(([name, remove]) => ({
  name: `a session's lease of a Vault server and the ${name} that it is of`,
  refused: [404, 500],
  judge: (made) => assert.doesNotMatch(made.text, new RegExp(`"${LOST}"`)),
  async setUp(bench) {
    const place = await newPlace(bench, { own: true });
    const [vault, other] = [await startVault(), await startVault()];
    const at = await giveLibrary(bench, place, ...vaultLibrary(vault, LOST));
    const kept = await giveLibrary(bench, place, ...vaultLibrary(other, 'kept'), 4);
    await must(
      bench.maker.call('POST', `targets/${place.target}:add-credential-sources`, {
        version: 5,
        brokered_credential_source_ids: [at.library],
      }),
    );
    return {
      path: path(place),
      make: () => authorize(bench, place),
      remove: () => remove(bench, at),
      async ended(made) {
        const { app } = bench.remover.running;
        const id = made.textAt('session_id');
        const leases = await app.db.selectFrom('lease').select(['id', 'expires_at']).execute();
        const isAlive = (library: string): boolean[] =>
          leases
            .filter((lease) => lease.id.startsWith(`broker/sessions/${id}/${library}/`))
            .map(({ expires_at }) => expires_at > app.now() / 1000);
        assert.ok(!isAlive(at.library).includes(true), 'a lease of what was removed is alive');
        assert.deepEqual(isAlive(kept.library), [true]);
        const session = await must(bench.remover.call('GET', `sessions/${id}`));
        assert.equal(session.textAt('status'), 'pending');
      },
    };
  },
}));

raceAll('what libraries make', [...certificates, ...ended, ...vaults, ...removed]);
