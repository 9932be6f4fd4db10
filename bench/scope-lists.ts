// How long lists of many scopes hold the thread that answers, by CPU time of the longest turn: of an administrator
// who made each project, and so has a role in it, and of somebody else; the first time after a change, and again.
//
//   node bench/scope-lists.ts [projects]

import { SEED_DEFAULTS } from '../src/config/seed.ts';
import { bumpConfigVersion } from '../src/store/config-version.ts';
import { longestTurn } from '../test/support/turns.ts';
import { startHere } from './here.ts';

const PROJECTS = Number(process.argv[2] ?? 1_000);

const server = await startHere(SEED_DEFAULTS);

async function call(method: string, path: string, token: string, body?: unknown): Promise<string> {
  const response = await fetch(`${server.url}/${path}`, {
    method,
    headers: token === '' ? {} : { authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${path}: ${text}`);
  return text;
}

async function logIn(login_name: string): Promise<string> {
  const attributes = { login_name, password: 'password' };
  const path = 'auth-methods/ampw_1234567890:authenticate';
  return String(JSON.parse(await call('POST', path, '', { attributes })).attributes.token);
}

try {
  const people = { admin: await logIn('admin'), user: await logIn('user') };
  for (let at = 0; at < PROJECTS; at++) {
    await call('POST', 'scopes', people.admin, { scope_id: 'o_1234567890', name: `p${at}` });
  }
  for (const [name, token] of Object.entries(people)) {
    for (const when of ['after a change', 'again']) {
      if (when !== 'again') await server.app.store.commit([bumpConfigVersion()]);
      let bytes = 0;
      const before = process.cpuUsage();
      const longest = await longestTurn(async () => {
        bytes = (await call('GET', 'scopes?scope_id=global&recursive=true', token)).length;
      });
      const { user, system } = process.cpuUsage(before);
      const all = ((user + system) / 1000).toFixed(0);
      console.log(
        `${name} ${when}: longest turn ${longest.toFixed(0)} ms, in all ${all} ms, ${bytes} bytes`,
      );
    }
  }
} finally {
  await server.stop();
}
