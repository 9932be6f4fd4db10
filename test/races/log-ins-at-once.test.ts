import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachPlace } from '../support/engines.ts';
import { storageOf } from '../support/seeded-broker.ts';
import { startTestServer } from '../support/server.ts';

type Call = [method: string, path: string, body?: object];

/** What changes what lets somebody in, again and again, and what they do meanwhile. */
const cases: [what: string, prepare: Call[], change: (at: number) => Call, use: Call][] = [
  [
    'a user logs in',
    [
      ['POST', 'sys/auth/people', { type: 'userpass' }],
      ['POST', 'auth/people/users/ann', { password: 'a password' }],
    ],
    (at) => ['POST', 'auth/people/users/ann', { token_ttl: 1000 + at }],
    ['POST', 'auth/people/login/ann', { password: 'a password' }],
  ],
  [
    'a machine logs in',
    [
      ['POST', 'sys/auth/machines', { type: 'approle' }],
      [
        'POST',
        'auth/machines/role/web',
        { role_id: 'web', bind_secret_id: false, token_bound_cidrs: '127.0.0.1/32' },
      ],
    ],
    (at) => ['POST', 'auth/machines/role/web', { token_ttl: 1000 + at }],
    ['POST', 'auth/machines/login', { role_id: 'web' }],
  ],
  [
    'tokens are made by a role',
    [['POST', 'auth/token/roles/web', { orphan: true }]],
    (at) => ['POST', 'auth/token/roles/web', { token_num_uses: 1000 + at }],
    ['POST', 'auth/token/create/web', {}],
  ],
];

const CHANGING = 10;
const USES = 8;

eachPlace('changes in the way of log-ins', (newPlace) => {
  for (const [what, prepare, change, use] of cases) {
    test(`${what} while what that rests on is changed again and again`, async (t) => {
      const { call } = await startTestServer(t, {
        config: { storage: storageOf(await newPlace()) },
      });
      for (const request of prepare) assert.ok((await call(...request)).status < 300);
      let [isOver, changes] = [false, 0];
      const changing = Array.from({ length: CHANGING }, async () => {
        while (!isOver) {
          const { status, text } = await call(...change(changes));
          assert.ok(status < 300, text);
          changes += 1;
        }
      });
      for (let at = 0; at < USES; at += 1) {
        const { status, text } = await call(...use);
        assert.equal(status, 200, text);
      }
      isOver = true;
      await Promise.all(changing);
      assert.ok(changes > USES, 'it was changed meanwhile');
    });
  }
});
