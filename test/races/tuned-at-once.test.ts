// What goes by the settings of its mount, while somebody tunes that: once the tuning is acknowledged
// nothing is made by former settings.

import assert from 'node:assert/strict';
import { type Bench, must, type RaceCase, raceAll } from '../support/racing.ts';

const DAY = 86_400;
const SHORT = { max_lease_ttl: '1h', default_lease_ttl: '1h' };

/** An endpoint that makes something for as long as its mount allows. */
interface Timed {
  name: string;
  kind: 'auth' | 'mounts';
  type: string;
  /** Sets up what is asked, and says how; paths are beneath the mount. */
  prepare(at: (path: string, body: object) => ReturnType<Bench['maker']['call']>): Promise<{
    path: string;
    body: object;
    token?: string;
  }>;
  /** Seconds that what was made has left. */
  lasts(answer: { text: string }): number;
}

const lease = ({ text }: { text: string }): number => JSON.parse(text).auth.lease_duration;

const timed: Timed[] = [
  {
    name: 'a log-in by password',
    kind: 'auth',
    type: 'userpass',
    async prepare(at) {
      await must(at('users/ann', { password: 'correct horse' }));
      return { path: 'login/ann', body: { password: 'correct horse' }, token: '' };
    },
    lasts: lease,
  },
  {
    name: 'a log-in by secret ID',
    kind: 'auth',
    type: 'approle',
    async prepare(at) {
      await must(at('role/web', { role_id: 'web' }));
      const made = await must(at('role/web/secret-id', {}));
      return {
        path: 'login',
        body: { role_id: 'web', secret_id: made.textAt('data.secret_id') },
        token: '',
      };
    },
    lasts: lease,
  },
  {
    name: 'a root',
    kind: 'mounts',
    type: 'pki',
    prepare: async () => ({
      path: 'root/generate/internal',
      body: { common_name: 'Root', key_type: 'ec', ttl: '240h' },
    }),
    lasts: ({ text }) => JSON.parse(text).data.expiration - Date.now() / 1000,
  },
  {
    name: 'a certificate',
    kind: 'mounts',
    type: 'pki',
    async prepare(at) {
      const root = { common_name: 'Root', key_type: 'ec', ttl: '240h' };
      await must(at('root/generate/internal', root));
      await must(at('roles/web', { allow_any_name: true, key_type: 'ec' }));
      return { path: 'issue/web', body: { common_name: 'www.example.com', ttl: '200h' } };
    },
    lasts: ({ text }) => JSON.parse(text).data.expiration - Date.now() / 1000,
  },
];

const cases: RaceCase[] = timed.map(({ name, kind, type, prepare, lasts }) => ({
  name,
  refused: [],
  judge(made) {
    assert.equal(made.status, 200, made.text);
    assert.ok(lasts(made) <= 3_600, made.text);
  },
  async setUp({ maker, remover, next }) {
    const mount = `m${next()}`;
    await must(maker.call('POST', `sys/${kind}/${mount}`, { type }));
    await must(maker.call('POST', `sys/${kind}/${mount}/tune`, { max_lease_ttl: `${20 * DAY}` }));
    const base = kind === 'auth' ? `auth/${mount}` : mount;
    const { path, body, token } = await prepare((to, sent) =>
      maker.call('POST', `${base}/${to}`, sent),
    );
    const options = token === undefined ? {} : { token };
    return {
      path: `${base}/${path}`,
      make: () => maker.call('POST', `${base}/${path}`, body, options),
      remove: () => remover.call('POST', `sys/${kind}/${mount}/tune`, SHORT),
    };
  },
}));

/** The mount of tokens is one for all: it is tuned back. */
const child: RaceCase = {
  name: 'a token',
  refused: [],
  judge(made) {
    assert.equal(made.status, 200, made.text);
    assert.ok(lease(made) <= 3_600, made.text);
  },
  async setUp({ maker, remover }) {
    const tune = 'sys/auth/token/tune';
    await must(maker.call('POST', tune, { max_lease_ttl: '768h', default_lease_ttl: '768h' }));
    return {
      path: 'auth/token/create',
      make: () => maker.call('POST', 'auth/token/create', { policies: ['default'], ttl: '700h' }),
      remove: () => remover.call('POST', tune, SHORT),
    };
  },
};

raceAll('what is made while its mount is tuned', [...cases, child]);
