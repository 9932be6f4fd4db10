// A server within the process that measures, on a folder of its own.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { devConfig } from '../src/config/config.ts';
import type { SEED_DEFAULTS } from '../src/config/seed.ts';
import { startServer } from '../src/start/server.ts';

/** @param seed of the broker; none: it has none */
export async function startHere(seed?: typeof SEED_DEFAULTS) {
  const data = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  const running = await startServer({
    ...devConfig({
      data,
      listen: '127.0.0.1:0',
      proxy_listen: '127.0.0.1:0',
      root_token: 'root',
      threads: 1,
      ...(seed === undefined ? {} : { seed }),
    }),
    log_level: 'silent',
  });
  const url = `http://127.0.0.1:${running.address.port}/v1`;
  return {
    app: running.app,
    url,
    /** Posts as whoever has the root token. @returns the answer's text */
    async post(path: string, body: unknown): Promise<string> {
      const headers = { 'x-vault-token': 'root' };
      const sent = { method: 'POST', headers, body: JSON.stringify(body) };
      const response = await fetch(`${url}/${path}`, sent);
      const text = await response.text();
      if (response.status >= 300) throw new Error(`${path}: ${text.slice(0, 500)}`);
      return text;
    },
    /** Ends it, and removes its folder. */
    async stop(): Promise<void> {
      await running.stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}
