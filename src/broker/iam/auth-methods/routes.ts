import { z } from 'zod';
import { itemAccess } from '../../resource/location.operations.ts';
import { type AnyBoundaryRoute, boundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { authenticateFields, readLogIn } from './login-request.ts';
import { authMethodDefinition, checkAuthMethodList } from './operations.ts';
import { logInByPassword } from './password-login.operations.ts';

export const authMethodRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(authMethodDefinition, { checkList: checkAuthMethodList }),
  boundaryRoute({
    id: 'authenticate-auth-method',
    method: 'POST',
    path: '/v1/auth-methods/{id}:authenticate',
    summary: 'Log in',
    access: itemAccess(authMethodDefinition, 'authenticate'),
    input: authenticateFields,
    max_body: 64 * 1024,
    output: z.record(z.string(), z.unknown()),
    failures: ['invalid', 'unauthenticated', 'not_found'],
    audit: ['command', 'type', 'token_type'],
    check: ({ id, item }) => readLogIn(id, item),
    run: (app, caller, { checked }, { resource }) =>
      logInByPassword(app, caller, resource, checked),
  }),
];
