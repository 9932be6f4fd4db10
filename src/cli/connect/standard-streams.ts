import { isOrderly, refusalOfClose } from '../../worker/client/refusal.ts';
import { Relay } from '../../worker/client/relay.ts';
import { SessionRefused } from '../../worker/client/session-stream.ts';
import { dialerOf, endSession, explainRefusal, requireTime, say } from './serving.ts';
import { explainEnd, type OpenedSession, USED_UP } from './session.ts';

/**
 * Carries one connection over standard input and output, where nothing else is written.
 *
 * @returns the exit code
 */
export async function carryStandardStreams(session: OpenedSession): Promise<number> {
  requireTime(session.authorization);
  const dialer = dialerOf(session.authorization);
  try {
    const connection = await dialer.dial();
    const relay = new Relay(connection, {
      source: process.stdin,
      sink: process.stdout,
      abort: () => process.stdin.destroy(),
    });
    const stop = (): void => relay.stop();
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
    const { by, code, reason } = await relay.run();
    const words = by === 'worker' ? await explainEnd(session) : undefined;
    if (words !== undefined && words !== USED_UP) {
      say(words);
      return 1;
    }
    await endSession(session, dialer, { why: 'stopped' });
    // Whoever has left does not hear how the worker did.
    if (isOrderly(code) || (by === 'client' && code === 1006)) return 0;
    say(refusalOfClose(code, reason).words);
    return 1;
  } catch (error) {
    if (!(error instanceof SessionRefused)) throw error;
    say(await explainRefusal(session, error.refusal));
    await endSession(session, dialer, { why: 'stopped' });
    return 1;
  }
}
