import { setTimeout as wait } from 'node:timers/promises';
import { Failure } from '../../core/failure.ts';
import { type ApiClient, CLIENT_FLAGS, createApiClient } from '../api-client.ts';
import type { Arguments, FlagTable } from '../arguments.ts';
import type { Command } from '../command.ts';
import { formatOf, pairs } from '../output.ts';
import { mountOf } from './mount.ts';
import { barOf, isOver, progressOf } from './progress.ts';

/** What is tidied, by the flag that says so. */
const WORKS: Readonly<Record<string, [field: string, help: string]>> = {
  certs: ['tidy_cert_store', 'remove certificates that have ended'],
  revoked: ['tidy_revoked_certs', 'remove revoked certificates that have ended'],
  associations: ['tidy_revoked_cert_issuer_associations', 'find issuers of revoked certificates'],
  issuers: ['tidy_expired_issuers', 'remove issuers that have ended, but for the default one'],
  invalid: ['tidy_invalid_certs', 'remove certificates that cannot be read'],
  'dry-run': ['dry_run', 'only count what would be removed'],
};

const VALUES: Readonly<Record<string, [field: string, help: string]>> = {
  'safety-buffer': ['safety_buffer', 'how long a certificate stays after its end (72h)'],
  'revoked-buffer': ['revoked_safety_buffer', 'the same of revoked ones (as -safety-buffer)'],
  'issuer-buffer': ['issuer_safety_buffer', 'the same of issuers (8760h)'],
  pause: ['pause_duration', 'how long to wait after each row (0s)'],
};

const FLAGS: FlagTable = {
  mount: { value: 'PATH', help: 'the mount of the authority (pki)' },
  ...Object.fromEntries(
    Object.entries(WORKS).map(([name, [, help]]) => [name, { value: true as const, help }]),
  ),
  ...Object.fromEntries(
    Object.entries(VALUES).map(([name, [, help]]) => [name, { value: 'DURATION', help }]),
  ),
  detach: { value: true, help: 'begin it and do not wait' },
  ...CLIENT_FLAGS,
};

export const tidyCommand: Command = {
  usage: 'pki tidy [flags]',
  summary: 'remove what has ended from a certificate authority',
  about: `Removes what has ended from a certificate authority, and shows how far that is. The server does
it: Ctrl-C cancels the tidying there, a second Ctrl-C leaves without waiting for it, and with -detach it goes on
by itself. The exit code is 0 when it is finished, 2 when it was cancelled or has failed.`,
  flags: FLAGS,
  async run({ flags }) {
    const format = formatOf(flags);
    const mount = mountOf(flags);
    const api = createApiClient(flags, process.env);
    const { warnings } = await api.call('PUT', `${mount}/tidy`, requestOf(flags));
    for (const one of Array.isArray(warnings) ? warnings : []) console.error(String(one));
    const data = flags.has('detach')
      ? await readStatus(api, mount)
      : await follow(api, mount, format === 'table');
    console.log(format === 'json' ? JSON.stringify(data, null, 2) : textOf(data));
    return flags.has('detach') || progressOf(data).state === 'Finished' ? 0 : 2;
  },
};

function requestOf(flags: Arguments['flags']): Record<string, unknown> {
  const request: Record<string, unknown> = {};
  for (const [name, [field]] of Object.entries(WORKS)) if (flags.has(name)) request[field] = true;
  for (const [name, [field]] of Object.entries(VALUES)) {
    const value = flags.get(name);
    if (value !== undefined) request[field] = value;
  }
  return request;
}

async function readStatus(api: ApiClient, mount: string): Promise<Record<string, unknown>> {
  const { data } = await api.call('GET', `${mount}/tidy-status`);
  if (typeof data === 'object' && data !== null) return Object.fromEntries(Object.entries(data));
  throw new Failure('unavailable', 'the server did not say how the tidying goes');
}

const EVERY_MS = 500;

/** Waits for the end of a tidying; Ctrl-C has it end sooner. */
async function follow(
  api: ApiClient,
  mount: string,
  isShown: boolean,
): Promise<Record<string, unknown>> {
  const isTerminal = isShown && process.stderr.isTTY === true;
  let cancelling: Promise<unknown> | undefined;
  const interrupt = (): void => {
    // The second time the program ends as any other does.
    process.off('SIGINT', interrupt);
    cancelling = api.call('PUT', `${mount}/tidy-cancel`, {}).catch((error: unknown) => error);
  };
  process.on('SIGINT', interrupt);
  try {
    for (;;) {
      const data = await readStatus(api, mount);
      const progress = progressOf(data);
      if (isTerminal) process.stderr.write(`\r\x1b[K${barOf(progress)}`);
      if (isOver(progress)) {
        if (isTerminal) process.stderr.write('\n');
        return data;
      }
      const failed = await cancelling;
      if (failed instanceof Failure) throw failed;
      await wait(EVERY_MS);
    }
  } finally {
    process.off('SIGINT', interrupt);
  }
}

/** Counts that are not 0, and how it ended. */
function textOf(data: Record<string, unknown>): string {
  const counts = Object.entries(data).filter(
    ([name, value]) => /_count$/.test(name) && typeof value === 'number' && value > 0,
  );
  return pairs([
    ['State', data.state],
    ...(data.error ? ([['Error', data.error]] as const) : []),
    ...(data.dry_run === true ? ([['Dry run', 'nothing was removed']] as const) : []),
    ...counts,
  ]);
}
