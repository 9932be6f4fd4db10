import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { readInjectedCredentials } from '../credentials/of-sessions/injected.operations.ts';
import { openSshKey } from '../credentials/static/opening.operations.ts';
import { isOf } from '../resource/handler.ts';
import { findResource } from '../resource/store.ts';
import { requireCarried } from '../sessions/connections/carried-session.operations.ts';
import { type PlannedLogin, planLogin, type SshLogin } from '../sessions/credentials/ssh-login.ts';
import type { EligibleWorker } from '../workers/selection.ts';
import { targetDefinition } from './operations.ts';

/** What a worker needs to log in at an endpoint for a client; all texts, to be passed on. */
export interface SshGrant {
  logins: readonly SshLogin[];
  /** Lines as `ssh-keygen` writes public keys: the endpoint's, and its authorities'. */
  host_keys: readonly string[];
  host_ca_keys: readonly string[];
  /** Ed25519, 32 bytes in base64: what clients know the target by. */
  worker_key: string;
}

/**
 * What the worker that carries a session logs in with. Asked for with each connection, so that no worker keeps
 * secrets between them.
 *
 * @throws Failure `forbidden` for a session that is not active or has none, `precondition` for a worker that the
 *   session's filter does not admit
 */
export async function readSshGrant(
  app: App,
  caller: Caller,
  {
    worker,
    session_id,
  }: { worker: Pick<EligibleWorker, 'id' | 'name' | 'tags'>; session_id: string },
): Promise<SshGrant> {
  const session = await requireCarried(app, worker, session_id);
  const goesOn = session.status === 'active' && session.expires_ms > app.now();
  const target = await findResource(app.db, session.target_id);
  if (!goesOn || session.injects !== 1 || !isOf(targetDefinition, target)) {
    throw new Failure('forbidden', 'the session is not active, or has no injected credentials');
  }
  const logins: SshLogin[] = [];
  for (const credential of await readInjectedCredentials(app, session_id)) {
    const verdict = planLogin(credential);
    const login = verdict.usable ? await openLogin(app, caller, verdict.login) : undefined;
    if (login) logins.push(login);
  }
  const { host_keys = [], host_ca_keys = [] } = target.body;
  return { logins, host_keys, host_ca_keys, worker_key: workerKeyOf(app, target.id) };
}

/** Undefined for a key that cannot be used. */
async function openLogin(
  app: App,
  caller: Caller,
  login: PlannedLogin,
): Promise<SshLogin | undefined> {
  const { username, kind } = login;
  if (kind === 'password') return { username, secret: { kind, password: login.password } };
  const key = await openSshKey(app, caller, login);
  if (!key) return undefined;
  const der = key.export({ type: 'pkcs8', format: 'der' });
  const private_key = der.toString('base64');
  der.fill(0);
  const { certificate } = login;
  return kind === 'key'
    ? { username, secret: { kind, private_key } }
    : { username, secret: { kind, private_key, certificate } };
}

/** The same for a target as long as the installation lives, whichever worker carries its sessions. */
function workerKeyOf(app: App, target_id: string): string {
  return app.barrier.hmac('credential', `ssh host key:${target_id}`).toString('base64');
}
