import type { ProxyEnd } from '../../worker/client/local-proxy.ts';
import type { Command } from '../command.ts';
import { formatOf, jsonText, pairs } from '../output.ts';
import { bracketed } from './endpoint.ts';
import { parseListenAddress } from './listen-address.ts';
import { liveLine } from './live-line.ts';
import { explainRefusal, type Served, say, serveSession } from './serving.ts';
import { type OpenedSession, openSession, SESSION_FLAGS } from './session.ts';
import { carryStandardStreams } from './standard-streams.ts';

export const plainCommand: Command = {
  usage: 'connect [TARGET] [flags]',
  summary: 'reach a target through a session',
  about: `Authorizes a session on TARGET (an id or an alias), listens on this machine, and carries every connection
made there to the target. What it carries is shown in a line on a terminal. Ctrl-C ends it, and the session.

With -stdio one connection is carried over standard input and output, for ProxyCommand of ssh:

  Host *.internal
    ProxyCommand gatehouse connect -stdio %n

The exit code is 0 when it was ended by a signal or the session's connections are used up, 2 when the session
ended before (it has expired, was canceled, or is in use by another client), and 1 when it could not begin.`,
  flags: {
    ...SESSION_FLAGS,
    listen: {
      value: 'HOST:PORT',
      help: "where to listen (127.0.0.1, the target's default_client_port or a free one)",
    },
    stdio: { value: true, help: 'carry one connection over standard input and output' },
    'proxy-command': { value: true, help: 'the same' },
  },
  may_follow: ['TARGET'],
  async run({ flags, rest }) {
    const format = formatOf(flags);
    const listen = flags.get('listen');
    const at = listen === undefined ? undefined : parseListenAddress(listen);
    const session = await openSession(flags, rest[0], process.env);
    if (flags.has('stdio') || flags.has('proxy-command')) return carryStandardStreams(session);
    const { default_client_port } = session.authorization;
    return serveSession(
      session,
      at ?? { host: '127.0.0.1', port: default_client_port },
      async (served) => {
        const ending = waitForEnd(served);
        console.log(format === 'json' ? jsonOf(served) : textOf(served));
        const isShown = process.stderr.isTTY && format === 'table';
        return report(session, isShown ? await showUntil(ending, served) : await ending);
      },
    );
  },
};

/** Carries until a signal or the session ends it. */
async function waitForEnd({ proxy }: Served): Promise<ProxyEnd> {
  const stop = (): void => proxy.stop();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, stop);
  try {
    return await proxy.ended;
  } finally {
    for (const signal of signals) process.off(signal, stop);
  }
}

const EVERY_MS = 1_000;

/** Shows the live line meanwhile. */
async function showUntil(ending: Promise<ProxyEnd>, { proxy, session }: Served): Promise<ProxyEnd> {
  const show = (): void => {
    const left = session.authorization.expires_ms - Date.now();
    process.stderr.write(`\r\x1b[K${liveLine(proxy.tally, left)}`);
  };
  show();
  const timer = setInterval(show, EVERY_MS);
  const end = await ending;
  clearInterval(timer);
  show();
  process.stderr.write('\n');
  return end;
}

/** @returns the exit code */
async function report(session: OpenedSession, end: ProxyEnd): Promise<number> {
  switch (end.why) {
    case 'stopped':
      return 0;
    case 'used up':
      say('no connections are left in the session');
      return 0;
    case 'expired':
      say('the session has expired');
      return 2;
    case 'refused':
      say(await explainRefusal(session, end.refusal));
      return 2;
  }
}

/** The fields that scripts for this kind of proxy know, in one line. */
function jsonOf({ address, session }: Served): string {
  const { authorization, credentials } = session;
  return jsonText({
    address: address.host,
    port: address.port,
    protocol: 'tcp',
    expiration: new Date(authorization.expires_ms).toISOString(),
    connection_limit: authorization.connection_limit,
    session_id: authorization.session_id,
    target_id: authorization.target_id,
    ...(credentials.length > 0 ? { credentials } : {}),
  });
}

function textOf({ address, session }: Served): string {
  const { authorization, credentials } = session;
  const { host, port } = address;
  const lines = pairs([
    ['Address', `${bracketed(host)}:${port}`],
    ['Target', authorization.target_id],
    ['Session', authorization.session_id],
    ['Expires', new Date(authorization.expires_ms).toISOString()],
    [
      'Connections',
      authorization.connection_limit < 0 ? 'any number' : authorization.connection_limit,
    ],
  ]);
  return [lines, ...credentials.map((one) => `\n${jsonText(one, 2)}`)].join('\n');
}
