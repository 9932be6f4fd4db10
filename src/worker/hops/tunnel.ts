import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tunnel } from '../../broker/workers/tunnels.ts';

/** What one side has not taken so long after the other has gone is dropped. */
const LINGER_MS = 60_000;

/**
 * Has one connection to a socket of this machine go through another one. The folder that it lies in is its owner's alone.
 *
 * @param through closed with the tunnel
 */
export async function openTunnelTo(through: Socket): Promise<Tunnel> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-tunnel-'));
  const path = join(folder, 'socket');
  const taken = new Set<Socket>();
  const server = createServer((local) => {
    // It is for one.
    server.close();
    taken.add(local);
    local.on('error', () => local.destroy());
    if (through.destroyed) {
      local.destroy();
      return;
    }
    local.pipe(through);
    through.pipe(local);
    for (const [one, other] of [
      [local, through],
      [through, local],
    ] as const) {
      one.once('close', () => {
        // One that has ended in order is given time for what is on its way to the other.
        if (!one.readableEnded) other.destroy();
        else setTimeout(() => other.destroy(), LINGER_MS).unref();
      });
    }
  });
  const close = (): void => {
    server.close();
    for (const local of taken) local.destroy();
    through.destroy();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, () => resolve());
    });
  } catch (error) {
    close();
    throw error;
  }
  return { path, close };
}
