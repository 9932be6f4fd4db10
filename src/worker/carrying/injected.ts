import type { SshGrant } from '../../broker/targets/injection.operations.ts';
import { recordConnection } from '../recording/recorder.ts';
import type { SessionWatcher } from '../ssh/watching.ts';
import type { Upstream } from '../upstream.ts';

/**
 * What a connection with injected credentials begins with: its recording, where the session has one, and what to
 * log in by.
 *
 * @param onFailure called when it cannot be recorded any more
 * @throws Failure where there is either not; what was begun is closed then
 */
export async function beginInjected(
  upstream: Upstream,
  connection: {
    session_id: string;
    connection_id: string;
    facts: { recording_id: string };
    onFailure(): void;
  },
): Promise<{ watcher: SessionWatcher | undefined; grant: SshGrant }> {
  const { session_id, connection_id, facts, onFailure } = connection;
  const watcher =
    facts.recording_id === ''
      ? undefined
      : await recordConnection(upstream, connection_id, { onFailure });
  try {
    return { watcher, grant: await upstream.logIn({ session_id }) };
  } catch (error) {
    await watcher?.close({ reason: 'no credentials' });
    throw error;
  }
}
