import { type AnyRoute, vaultRoute } from '../../../app/route.ts';
import { issuedSchema, signedLeafSchema } from '../../certificates/answer.ts';
import { ISSUANCE } from '../routes.ts';
import { issueByCel, signByCel } from './operations.ts';
import { celIssueSchema, celSignSchema, keepingSent } from './request.ts';

export const celIssuanceRoutes: readonly AnyRoute[] = [
  keepingSent(
    vaultRoute({
      ...ISSUANCE,
      id: 'pki-issue-with-cel-role',
      path: '/v1/{mount}/cel/issue/{role}',
      summary: 'Make a key and a certificate for it, as the program of a CEL role has it',
      input: celIssueSchema,
      output: issuedSchema,
      run: issueByCel,
    }),
  ),
  keepingSent(
    vaultRoute({
      ...ISSUANCE,
      id: 'pki-sign-with-cel-role',
      path: '/v1/{mount}/cel/sign/{role}',
      summary: 'Sign a certificate request, as the program of a CEL role has it',
      see: ['RFC 2986'],
      input: celSignSchema,
      output: signedLeafSchema,
      run: signByCel,
    }),
  ),
];
