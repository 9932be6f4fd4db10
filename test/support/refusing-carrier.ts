import { after } from 'node:test';
import { Failure } from '../../src/core/failure.ts';
import { Carrier } from '../../src/worker/carrying/carrier.ts';
import type { SessionGrant, Upstream } from '../../src/worker/upstream.ts';
import { makeSessionSecrets } from './session-client.ts';

/** A carrier, until the file's tests are over, that knows one session and lets nobody do anything with it. */
export async function startRefusingCarrier() {
  const session = makeSessionSecrets();
  const grant: SessionGrant = {
    ...session,
    tofu_token: '',
    version: 1,
    status: 'pending',
    expires_ms: Date.now() + 600_000,
    left_ms: 600_000,
    connection_limit: -1,
    recording_id: '',
    injects: false,
    dials: true,
    endpoint: 'tcp://127.0.0.1:1',
  };
  const refuse = () => Promise.reject(new Failure('forbidden', 'no'));
  const upstream: Upstream = {
    lookUp: async () => grant,
    activate: refuse,
    cancel: refuse,
    authorize: refuse,
    reach: refuse,
    connect: refuse,
    logIn: refuse,
    close: refuse,
    record: refuse,
  };
  const carrier = new Carrier(upstream);
  after(() => carrier.close());
  const { port } = await carrier.listen({ host: '127.0.0.1', port: 0 });
  return { session, port };
}
