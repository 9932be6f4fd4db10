import { z } from 'zod';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { actionRoute } from '../../resource/verbs.routes.ts';
import {
  accountDefinition,
  changePassword,
  checkNewPassword,
  checkPasswordChange,
  setPassword,
} from './operations.ts';

const password = (about: string) => z.string().optional().describe(about);

export const accountRoutes: readonly AnyBoundaryRoute[] = [
  ...standardRoutes(accountDefinition),
  actionRoute(accountDefinition, 'set-password', {
    summary: 'Give an account a password',
    fields: { password: password('The new one.') },
    check: checkNewPassword,
    run: setPassword,
  }),
  actionRoute(accountDefinition, 'change-password', {
    summary: 'Change a password by whoever knows it',
    fields: {
      current_password: password('The present one.'),
      new_password: password('The new one.'),
    },
    check: checkPasswordChange,
    run: changePassword,
  }),
];
