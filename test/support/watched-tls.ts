import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startWatched, type Watched } from '../worst-cases/measure.ts';
import { startTestServer } from './server.ts';

/**
 * A watched server that speaks TLS, with a certificate that another server issued for it.
 *
 * @param t what stops the other; whoever asks stops this one
 */
export async function startWatchedTls(
  t: Parameters<typeof startTestServer>[0],
  key_type: 'ec' | 'rsa',
): Promise<Watched> {
  const { call } = await startTestServer(t);
  await call('POST', 'demo/root/generate/internal', { common_name: 'Root', key_type: 'ec' });
  await call('POST', 'demo/roles/tls', { allow_any_name: true, key_type });
  const pair = await call('POST', 'demo/issue/tls', { common_name: 'localhost', ttl: '1h' });
  assert.equal(pair.status, 200, pair.text);
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-tls-'));
  const place = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  const server = await startWatched(
    place('a.pem', pair.textAt('data.certificate')),
    place('a.key', pair.textAt('data.private_key')),
  );
  return {
    ...server,
    async stop() {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
