import { closeSync, fchmodSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { Failure, invalid } from '../core/failure.ts';
import type { Arguments } from './arguments.ts';
import {
  BROKER_FLAGS,
  type BrokerClient,
  createBrokerClient,
  objectOf,
  textOf,
} from './broker-client.ts';
import type { Command, CommandGroup } from './command.ts';
import { formatOf, pairs } from './output.ts';
import { REFERENCE, readReference } from './secret-reference.ts';
import { readPassword } from './terminal.ts';

const { token: _token, 'token-file': _file, ...FLAGS } = BROKER_FLAGS;

const passwordCommand: Command = {
  usage: 'authenticate [flags]',
  summary: 'log in to the access broker with a password',
  about: `Logs in to the access broker with a password, which is asked for, or read from a pipe or where -password
says. The token is written to standard output and nothing else is, unless -token-file names a file for it,
which then only its owner can read:

  export GATEHOUSE_TOKEN=$(gatehouse authenticate -login-name admin)`,
  flags: {
    'login-name': { value: 'NAME', help: 'who logs in' },
    password: { value: 'REF', help: `where the password is: ${REFERENCE} (else it is asked for)` },
    'auth-method-id': { value: 'ID', help: "the auth method (the scope's primary one)" },
    'scope-id': { value: 'ID', help: 'of whose auth methods (global)' },
    'token-file': { value: 'FILE', help: 'keep the token here, for -token-file of other commands' },
    ...FLAGS,
  },
  run: async ({ flags }) => logIn(flags),
};

export const authenticateCommands: CommandGroup = {
  words: 'authenticate',
  summary: passwordCommand.summary,
  commands: { password: passwordCommand },
  itself: passwordCommand,
};

async function logIn(flags: Arguments['flags']): Promise<number> {
  const format = formatOf(flags);
  const login_name = flags.get('login-name');
  if (!login_name) throw invalid('flag -login-name NAME is needed');
  const asking = new Map([...flags].filter(([name]) => name !== 'token-file'));
  // Whoever logs in anew does so as nobody: a token of before may have run out.
  const api = createBrokerClient(asking, {
    ...process.env,
    GATEHOUSE_TOKEN: undefined,
    BOUNDARY_TOKEN: undefined,
  });
  const reference = flags.get('password');
  const known =
    reference === undefined ? undefined : readReference('password', reference, process.env);
  const auth_method_id = await chooseMethod(api, flags);
  const password = known ?? (await readPassword('Password'));
  const answer = await authenticate(api, auth_method_id, { login_name, password });
  const attributes = objectOf(answer.attributes);
  const token = textOf(attributes, 'token');
  if (token === '') throw new Failure('unavailable', 'the server did not answer with a token');
  const file = flags.get('token-file');
  if (file !== undefined) keep(file, token);
  if (format === 'json') {
    const { token: _shown, ...rest } = attributes;
    console.log(JSON.stringify(file === undefined ? attributes : rest, null, 2));
    return 0;
  }
  const told = pairs([
    ['User', attributes.user_id],
    ['Account', attributes.account_id],
    ['Auth method', attributes.auth_method_id],
    ['Expires', attributes.expiration_time],
    ...(file === undefined ? [] : ([['Token', `in ${file}`]] as const)),
  ]);
  console.error(told);
  if (file === undefined) console.log(token);
  return 0;
}

/** The scope's primary method, if it takes passwords. */
async function chooseMethod(api: BrokerClient, flags: Arguments['flags']): Promise<string> {
  const named = flags.get('auth-method-id');
  if (named !== undefined) return named;
  const scope_id = flags.get('scope-id') ?? 'global';
  const query = `scope_id=${encodeURIComponent(scope_id)}`;
  const { items } = await api.call('GET', `auth-methods?${query}`);
  const methods = (Array.isArray(items) ? items : []).map(objectOf);
  const primary = methods.find(({ is_primary }) => is_primary === true);
  const id = primary && textOf(primary, 'id');
  if (id?.startsWith('ampw_')) return id;
  throw invalid(
    `${scope_id} has no primary auth method that takes passwords; name one with -auth-method-id`,
  );
}

async function authenticate(
  api: BrokerClient,
  auth_method_id: string,
  attributes: { login_name: string; password: string },
): Promise<Record<string, unknown>> {
  const path = `auth-methods/${encodeURIComponent(auth_method_id)}:authenticate`;
  try {
    return await api.call('POST', path, { command: 'login', type: 'token', attributes });
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'unauthenticated') throw error;
    throw new Failure('unauthenticated', 'the name or the password is wrong', { cause: error });
  }
}

/** Puts a token where nobody else reads it, in the place of whatever was there. */
function keep(file: string, token: string): void {
  const beside = `${file}.${process.pid}`;
  try {
    const opened = openSync(beside, 'wx', 0o600);
    try {
      fchmodSync(opened, 0o600);
      writeSync(opened, `${token}\n`);
    } finally {
      closeSync(opened);
    }
    renameSync(beside, file);
  } catch (cause) {
    rmSync(beside, { force: true });
    throw invalid(`the token cannot be kept in "${file}"`, { cause });
  }
}
