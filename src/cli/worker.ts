import { readFileSync } from 'node:fs';
import { pino } from 'pino';
import { formatAddress } from '../broker/workers/worker.ts';
import { parseAddress } from '../config/kinds.ts';
import { Failure, invalid } from '../core/failure.ts';
import { type FirstToken, ownToken } from '../worker/alone/enrolling.client.ts';
import { Identity } from '../worker/alone/identity.ts';
import { readWorkerSettings } from '../worker/alone/settings.ts';
import { StandingWorker } from '../worker/alone/worker.ts';
import type { Command } from './command.ts';

/** Carries sessions on a machine of its own. */
export const workerCommand: Command = {
  usage: 'worker -config FILE',
  summary: 'run a worker that carries sessions, without a server',
  about: `Runs a worker that carries sessions for servers on other machines. It connects to them, never they to it.
At its first start it needs an activation token, or prints a token of its own that an administrator gives to the
server. SIGTERM ends what it carries and says so to the server.`,
  flags: { config: { value: 'FILE', help: 'the configuration file, a JSON object' } },
  async run({ flags }) {
    const file = flags.get('config');
    if (file === undefined) throw invalid('flag -config FILE is needed');
    const settings = readWorkerSettings(readText('the configuration file', file));
    const identity = Identity.open(settings.state);
    const log = pino({ level: settings.log_level }, pino.destination({ dest: 2, sync: true }));
    const worker = new StandingWorker(identity, {
      settings,
      servers: settings.servers.map((server) => parseAddress('servers', server)),
      token: identity.credentials ? { own: true } : tokenOf(settings.activation_token),
      log,
      showToken: () => console.log(invitation(ownToken(identity))),
    });
    const at = await worker.listen().catch((error: unknown) => {
      throw listenFailure(error);
    });
    console.log(
      at
        ? `gatehouse worker listens on ${formatAddress(at)}`
        : 'gatehouse worker takes no connections',
    );
    const stopped = new Promise<void>((resolve) => {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve());
    });
    try {
      await Promise.race([worker.run(), stopped]);
    } finally {
      await worker.stop();
    }
    return 0;
  },
};

function tokenOf(given: string | undefined): FirstToken {
  if (given === undefined) return { own: true };
  if (given.startsWith('env://')) {
    const name = given.slice('env://'.length);
    const value = process.env[name];
    if (value === undefined) throw invalid(`activation_token: ${name} is not in the environment`);
    return { given: value.trim() };
  }
  if (!given.startsWith('file://')) return { given };
  return { given: readText('activation_token: the file', given.slice('file://'.length)).trim() };
}

function readText(what: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw invalid(`${what} "${file}" cannot be read`, { cause });
  }
}

const invitation = (token: string): string =>
  `The server does not expect this worker yet. Create it there with this token (workers create worker-led):

  ${token}
`;

function listenFailure(error: unknown): unknown {
  const code = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  if (typeof code !== 'string' || !(error instanceof Error)) return error;
  return new Failure('unavailable', `listener.address: ${error.message}`, { cause: error });
}
