import { z } from 'zod';
import type { Immutable } from '../../../core/immutable.ts';
import {
  type AuthTokenBody,
  authTokenShown,
  describeAuthToken,
} from '../../principals/auth-token.ts';
import type { Action } from '../../resource/actions.ts';
import { commonShown, scopeSummary } from '../../resource/common-fields.ts';
import { formatTime, type Resource, type Scope } from '../../resource/resource.ts';
import type { LogInRequest } from './login-request.ts';

const { id, created_time, updated_time, authorized_actions } = commonShown;

/** The answer to a log-in. */
export const loggedIn = z.object({
  type: z.enum(['token', 'cookie']).optional().describe('As it was asked for.'),
  command: z.literal('login'),
  attributes: z.object({
    id,
    scope_id: z.string().optional().describe('Where `type` is `token`.'),
    scope: scopeSummary.pick({ id: true, type: true }),
    token: z.string().optional().describe('Shown this once; not where it comes as cookies.'),
    created_time,
    updated_time,
    ...z.object(authTokenShown).partial().shape,
    authorized_actions: authorized_actions.optional(),
  }),
});

/** Somebody has logged in. */
export interface LogIn {
  token: Resource<AuthTokenBody>;
  /** The token's, known here and nowhere else. */
  text: string;
  scope: Scope;
  /** What its owner may do with it, where that is asked for. */
  authorized_actions: readonly Action[] | undefined;
}

export function describeLogIn(
  { token, text, scope, authorized_actions }: LogIn,
  type: LogInRequest['type'],
): Immutable<z.output<typeof loggedIn>> {
  return {
    ...(type === '' ? {} : { type }),
    command: 'login',
    attributes: {
      id: token.id,
      ...(type === 'token' ? { scope_id: token.scope_id } : {}),
      scope: { id: scope.id, type: scope.type },
      ...(type === 'cookie' ? {} : { token: text }),
      created_time: formatTime(token.created_ms),
      updated_time: formatTime(token.updated_ms),
      ...describeAuthToken(token),
      ...(authorized_actions && { authorized_actions }),
    },
  };
}
