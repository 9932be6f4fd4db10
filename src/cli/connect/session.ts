import {
  decodeAuthorizationToken,
  type SessionAuthorization,
} from '../../broker/sessions/authorization-token.ts';
import { Failure, invalid } from '../../core/failure.ts';
import type { Arguments, FlagTable } from '../arguments.ts';
import {
  BROKER_FLAGS,
  type BrokerClient,
  createBrokerClient,
  objectOf,
  textOf,
} from '../broker-client.ts';
import { REFERENCE, readReference } from '../secret-reference.ts';

/** Flags that say which session is meant. */
export const SESSION_FLAGS: FlagTable = {
  'target-id': { value: 'ID', help: 'the target, by its id or an alias' },
  'target-name': { value: 'NAME', help: 'the target by its name, in a scope:' },
  'target-scope-id': { value: 'ID', help: 'by its id' },
  'target-scope-name': { value: 'NAME', help: 'by its name' },
  'host-id': { value: 'ID', help: 'of the hosts of the target this one' },
  'authz-token': {
    value: 'REF',
    help: `in place of a target: where the answer to an authorization is, or the token in it: ${REFERENCE}`,
  },
  ...BROKER_FLAGS,
};

/** A session that may be used, and what came with it. */
export interface OpenedSession {
  authorization: SessionAuthorization;
  /** Brokered ones, as they came. */
  credentials: readonly unknown[];
  /** Where this program has authorized it itself, and can ask about it. */
  api: BrokerClient | undefined;
}

/**
 * Authorizes a session on the target that the flags name, or reads the one that they refer to.
 *
 * @param operand the target where no flag names it: an id or an alias
 * @throws Failure as the server refuses it, or `invalid` where nothing or too much is named
 */
export async function openSession(
  flags: Arguments['flags'],
  operand: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<OpenedSession> {
  const reference = flags.get('authz-token');
  const ways = [operand, flags.get('target-id'), flags.get('target-name'), reference];
  if (ways.filter((way) => way !== undefined).length !== 1) {
    throw invalid(
      'name one target, by its id, its alias, -target-name or -target-id, or a session by -authz-token',
    );
  }
  if (reference !== undefined) {
    return readSession(readReference('authz-token', reference, env), undefined);
  }
  const api = createBrokerClient(flags, env);
  const { target, body } = requestOf(flags, operand);
  const path = `targets/${encodeURIComponent(target)}:authorize-session`;
  const answer = await api.call('POST', path, body).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.kind !== 'not_found') throw error;
    throw new Failure('not_found', `target "${target}": ${error.message}`, { cause: error });
  });
  return readSession(answer, api);
}

function requestOf(
  flags: Arguments['flags'],
  operand: string | undefined,
): { target: string; body: Record<string, string> } {
  const name = flags.get('target-name');
  const scope_id = flags.get('target-scope-id');
  const scope_name = flags.get('target-scope-name');
  const host_id = flags.get('host-id');
  if (name === undefined && (scope_id !== undefined || scope_name !== undefined)) {
    throw invalid('a scope goes with -target-name; an id or an alias needs none');
  }
  if (name !== undefined && (scope_id === undefined) === (scope_name === undefined)) {
    throw invalid('-target-name needs one of -target-scope-id and -target-scope-name');
  }
  const target = name ?? operand ?? flags.get('target-id') ?? '';
  if (target === '') throw invalid('the name of a target is empty');
  return {
    target,
    body: {
      ...(name === undefined ? {} : { name }),
      ...(scope_id === undefined ? {} : { scope_id }),
      ...(scope_name === undefined ? {} : { scope_name }),
      ...(host_id === undefined ? {} : { host_id }),
    },
  };
}

/**
 * @param given the token alone, or the answer that it came in, also as other command lines print it:
 *              within `item`
 */
function readSession(
  given: string | Record<string, unknown>,
  api: BrokerClient | undefined,
): OpenedSession {
  const whole = typeof given === 'string' ? parseObject(given) : given;
  const answer = whole && ('item' in whole ? objectOf(whole.item) : whole);
  const token = answer ? textOf(answer, 'authorization_token') : String(given).trim();
  const authorization = decodeAuthorizationToken(token);
  if (!authorization || authorization.private_key.length < 32) {
    throw api
      ? new Failure('unavailable', 'the server did not answer with a session')
      : invalid('what -authz-token refers to is no authorization token');
  }
  if (authorization.worker_addresses.length === 0) {
    throw new Failure('unavailable', 'the session names no worker that would carry it');
  }
  const credentials = answer?.credentials;
  return { authorization, credentials: Array.isArray(credentials) ? credentials : [], api };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/**
 * Says in words that a session is over, as the server has it.
 *
 * @returns undefined while it is not, or when the server cannot be asked
 */
export async function explainEnd({
  api,
  authorization,
}: OpenedSession): Promise<string | undefined> {
  if (!api) return undefined;
  try {
    const session = await api.call('GET', `sessions/${authorization.session_id}`);
    return wordsOf(textOf(session, 'status'), textOf(session, 'termination_reason'));
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** Said of a session whose connections were all made, which is no failure. */
export const USED_UP = "the session's limit of connections is used up";

const REASONS: Readonly<Record<string, string>> = {
  'timed out': 'the session has expired',
  canceled: 'the session was canceled',
  'connection limit': USED_UP,
};

/** @param reason why it has ended, if it has */
export function wordsOf(status: string, reason: string): string | undefined {
  if (status === 'canceling') return REASONS.canceled;
  if (status !== 'terminated') return undefined;
  return Object.hasOwn(REASONS, reason) ? REASONS[reason] : `the session has ended: ${reason}`;
}
