// Several threads answer by TLS: a client that comes back goes on with its session, whichever of them it comes to.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect, type SecureVersion } from 'node:tls';
import { THREADS } from '../support/everywhere.ts';
import { newDirectory } from '../support/node-process.ts';
import { writeTlsPair } from '../support/openssl.ts';
import { startTestServer } from '../support/server.ts';

/** By chance all of so many come to the thread that gave the ticket once in a million million times. */
const CONNECTIONS = 20;

for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const satisfies SecureVersion[]) {
  test(`a session of ${maxVersion} is taken up again by any of them, also by one that has begun since`, async (t) => {
    const directory = newDirectory(t);
    const tls = { cert_file: join(directory, 'cert.pem'), key_file: join(directory, 'key.pem') };
    writeTlsPair(tls);
    const { running } = await startTestServer(t, { config: { threads: THREADS, tls }, jobs: [] });
    const port = running.address.port;
    const open = async (session?: Buffer) => {
      const socket = connect({ port, rejectUnauthorized: false, maxVersion, session });
      // Tickets of TLS 1.3 come behind the handshake.
      const ticket = once(socket, 'session');
      await once(socket, 'secureConnect');
      return { socket, ticket };
    };
    const begin = async (): Promise<Buffer> => {
      const { socket, ticket } = await open();
      const [session] = await ticket;
      socket.destroy();
      return session;
    };
    const countTakenUp = async (session: Buffer): Promise<number> => {
      const taken = await Promise.all(
        Array.from({ length: CONNECTIONS }, async () => {
          const { socket, ticket } = await open(session);
          ticket.catch(() => {});
          const isTaken = socket.isSessionReused();
          socket.destroy();
          return isTaken;
        }),
      );
      return taken.filter(Boolean).length;
    };
    const session = await begin();
    assert.equal(await countTakenUp(session), CONNECTIONS);

    await running.threads?.kill();
    while (running.threads?.count !== THREADS) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.equal(await countTakenUp(session), CONNECTIONS);

    // Nobody goes on with what stands on the former certificate.
    running.reloadTls();
    while ((await countTakenUp(session)) > 0);
    assert.equal(await countTakenUp(await begin()), CONNECTIONS);
  });
}
