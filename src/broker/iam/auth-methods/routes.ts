import { itemAccess } from '../../resource/location.operations.ts';
import { type AnyBoundaryRoute, boundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { describeLogIn, loggedIn } from './login-answer.ts';
import { authenticateFields, readLogIn } from './login-request.ts';
import { authMethodDefinition } from './operations.ts';
import { logInByPassword } from './password-login.operations.ts';

/** The halves of a token's text: no script can read one of them. */
function cookiesOf(text: string): string[] {
  const half = Math.floor(text.length / 2);
  return [
    `wt-http-token-cookie=${text.slice(half)}; Path=/; HttpOnly; Secure; SameSite=Strict`,
    `wt-js-token-cookie=${text.slice(0, half)}; Path=/; Secure; SameSite=Strict`,
  ];
}

export const authMethodRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(authMethodDefinition),
  boundaryRoute({
    id: 'authenticate-auth-method',
    method: 'POST',
    path: '/v1/auth-methods/{id}:authenticate',
    summary: 'Log in',
    access: itemAccess(authMethodDefinition, 'authenticate'),
    input: authenticateFields,
    max_body: 64 * 1024,
    output: loggedIn,
    failures: ['invalid', 'unauthenticated', 'not_found'],
    audit: ['command', 'type', 'token_type'],
    check: ({ id, item }) => readLogIn(id, item),
    run: async (app, caller, { checked }, { resource }) => {
      const logIn = await logInByPassword(app, caller, resource, checked);
      return {
        body: describeLogIn(logIn, checked.type),
        ...(checked.type === 'cookie' && { cookies: cookiesOf(logIn.text) }),
      };
    },
  }),
];
