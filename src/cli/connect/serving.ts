import { randomBytes } from 'node:crypto';
import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { SessionAuthorization } from '../../broker/sessions/authorization-token.ts';
import { TOFU_LENGTH } from '../../broker/sessions/connections/connection.ts';
import { base62 } from '../../core/base62.ts';
import { Failure } from '../../core/failure.ts';
import { SessionDialer } from '../../worker/client/dialer.ts';
import { LocalProxy, type ProxyEnd } from '../../worker/client/local-proxy.ts';
import type { Refusal } from '../../worker/client/refusal.ts';
import { SessionRefused } from '../../worker/client/session-stream.ts';
import { printable } from '../output.ts';
import { bracketed } from './endpoint.ts';
import { isOpen } from './listen-address.ts';
import { explainEnd, type OpenedSession } from './session.ts';

/** With less time left than this a session is left to end by itself. */
const WORTH_CANCELING_MS = 5 * 60_000;
/** Nobody who is leaving waits longer than this. */
const CANCEL_MS = 5_000;
/** A tool that has ended has left its connections, but for what it has started and left behind. */
const FINISH_MS = 500;
/** The server is asked whether a session goes on no more often than this. */
const ASK_MS = 2_000;

/** One client of a session, as its worker knows it: with a token of its own for all connections. */
export function dialerOf(authorization: SessionAuthorization): SessionDialer {
  return new SessionDialer(authorization, base62(randomBytes(TOFU_LENGTH + 8), TOFU_LENGTH));
}

/** A session that is served on this machine. */
export interface Served {
  proxy: LocalProxy;
  address: { host: string; port: number };
  session: OpenedSession;
  /**
   * Ends the proxy once it is known whether the session itself has ended: what was connected may have
   * noticed the end of a connection before the server is asked about it.
   */
  finish(): Promise<void>;
}

/**
 * Listens for a session while something goes on, and ends the session after it.
 *
 * @param at     where to listen; port 0 takes a free one
 * @param use    what goes on; its result is returned
 * @throws Failure `unavailable` when it cannot listen there
 */
export async function serveSession<Result>(
  session: OpenedSession,
  at: { host: string; port: number },
  use: (served: Served) => Promise<Result>,
): Promise<Result> {
  const { authorization } = session;
  requireTime(authorization);
  const dialer = dialerOf(authorization);
  const proxy = new LocalProxy({
    dialer,
    expires_ms: authorization.expires_ms,
    onRefusal: (refusal) => say(refusal.words),
    onWorkerEnd: () => watch.ask(),
  });
  const watch = watchSession(session, (refusal) => proxy.fail(refusal));
  const finish = async (): Promise<void> => {
    withstandSignals();
    await atMost(FINISH_MS, proxy.idle());
    await atMost(CANCEL_MS, watch.answered());
    proxy.stop();
  };
  try {
    const address = await proxy.listen(at).catch((error: unknown) => {
      throw listenFailure(error, at);
    });
    if (isOpen(address.host)) say(`whoever reaches ${address.host} can use this session`);
    return await use({ proxy, address, session, finish });
  } finally {
    withstandSignals();
    proxy.stop();
    await endSession(session, dialer, await proxy.ended);
  }
}

/**
 * A signal often comes twice: from the terminal, and from whoever has started this program. The second
 * one does not break off what ends the session and takes secrets off the disk, which is bounded in time.
 */
function withstandSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, ignore);
}

const ignore = (): void => {};

/** Waits for something, but no longer than that. */
async function atMost(ms: number, something: Promise<void>): Promise<void> {
  const gaveUp = Promise.withResolvers<void>();
  const timer = setTimeout(gaveUp.resolve, ms);
  await Promise.race([something, gaveUp.promise]);
  clearTimeout(timer);
}

/**
 * Says something to whoever sits there, without a live line in its way. Written past the stream of
 * Node's own, which would have a tool that shares the pipe find it unready.
 */
export function say(words: string): void {
  try {
    writeSync(2, `${isatty(2) ? '\r\x1b[K' : ''}gatehouse: ${printable(words)}\n`);
  } catch {
    // Nobody listens.
  }
}

/** @throws Failure `unavailable` when there is none left */
export function requireTime({ expires_ms }: SessionAuthorization): void {
  if (expires_ms <= Date.now()) {
    throw new Failure('unavailable', 'the session has expired, by the clock of this machine');
  }
}

/**
 * Ends a session that this program has begun, where that is worth it; else it ends by itself.
 *
 * @param end how it came that nothing is carried any more
 */
export async function endSession(
  { api, authorization }: OpenedSession,
  dialer: SessionDialer,
  end: ProxyEnd,
): Promise<void> {
  if (!api || end.why !== 'stopped') return;
  if (authorization.expires_ms - Date.now() <= WORTH_CANCELING_MS) return;
  const canceled = dialer.cancel().catch((error: unknown) => {
    if (!(error instanceof SessionRefused)) throw error;
  });
  await atMost(CANCEL_MS, canceled);
}

/** Why a session takes nothing more, in the server's words where it can be asked. */
export async function explainRefusal(session: OpenedSession, refusal: Refusal): Promise<string> {
  const isTold = refusal.kind === 'no more' || refusal.kind === 'not accepted';
  return (isTold ? await explainEnd(session) : undefined) ?? refusal.words;
}

interface Watch {
  /** Asks the server whether the session goes on, at once or, where that was asked lately, a little later. */
  ask(): void;
  /** Resolves when it has answered; what would have been asked later is asked now. */
  answered(): Promise<void>;
}

/** @param over hears it if the session does not go on */
function watchSession(session: OpenedSession, over: (refusal: Refusal) => void): Watch {
  if (!session.api) return { ask() {}, answered: async () => {} };
  let isWaiting = false;
  let isAskedAgain = false;
  let answered = Promise.resolve();
  const ask = (): void => {
    if (isWaiting) {
      isAskedAgain = true;
      return;
    }
    isWaiting = true;
    const wait = setTimeout(() => {
      isWaiting = false;
      if (isAskedAgain) ask();
    }, ASK_MS);
    wait.unref();
    send();
  };
  const send = (): void => {
    isAskedAgain = false;
    answered = explainEnd(session).then((words) => {
      if (words !== undefined) over({ kind: 'no more', words, is_final: true });
    });
  };
  return {
    ask,
    answered() {
      if (isAskedAgain) send();
      return answered;
    },
  };
}

function listenFailure(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const code = String((error instanceof Error && Reflect.get(error, 'code')) || '');
  const where = `${bracketed(host)}:${port}`;
  const free = `choose another with -listen, or a free one with -listen ${host}:0`;
  if (code === 'EADDRINUSE') {
    return new Failure('unavailable', `${where} is in use by another program; ${free}`);
  }
  if (code === 'EACCES') {
    return new Failure('unavailable', `${where} is not for everybody to listen at; ${free}`);
  }
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return new Failure('unavailable', `${host} is no address of this machine`);
  }
  return error;
}
