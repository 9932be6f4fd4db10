import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../../../app/route.ts';
import { text } from '../../../core/fields.ts';
import { issueFields, signFields } from '../../profile/request.ts';
import { celIssueSchema, celSignSchema, celTrialSchema, keepingSent } from '../cel/request.ts';
import { ISSUANCE } from '../routes.ts';
import { trialSchema } from './answer.ts';
import { tryCelRole, tryRole } from './operations.ts';

const role = text().describe('Name of the role.');
const { key_type, key_bits } = issueFields;
const trialFields = { role, ...signFields, key_type, key_bits };
const trial = {
  ...ISSUANCE,
  output: trialSchema,
  failures: ['invalid', 'unresolved', 'rate_limited', 'unavailable'],
} as const;

// Whoever may not issue is not told what would be issued.

const toldOf = (path: `/v1/${string}`, own: object, there: object) => ({
  path,
  fields: Object.keys(own).filter((name) => name in there),
  when: [],
});

export const trialRoutes: readonly AnyRoute[] = [
  vaultRoute({
    ...trial,
    id: 'pki-test-role',
    path: '/v1/{mount}/roles/{role}/test',
    summary: 'Say what a role would let be issued, and by which rule, without issuing it',
    input: z.object(trialFields),
    sets_also: [
      toldOf('/v1/{mount}/issue/{role}', trialFields, { role, ...issueFields }),
      toldOf('/v1/{mount}/sign/{role}', trialFields, { role, ...signFields }),
    ],
    run: tryRole,
  }),
  keepingSent(
    vaultRoute({
      ...trial,
      id: 'pki-test-cel-role',
      path: '/v1/{mount}/cel/roles/{role}/test',
      summary: 'Say what the program of a CEL role would let be issued, without issuing it',
      input: celTrialSchema,
      sets_also: [
        // The program has all that is sent.
        {
          ...toldOf('/v1/{mount}/cel/issue/{role}', celTrialSchema.shape, celIssueSchema.shape),
          undeclared: true,
        },
        {
          ...toldOf('/v1/{mount}/cel/sign/{role}', celTrialSchema.shape, celSignSchema.shape),
          undeclared: true,
        },
      ],
      run: tryCelRole,
    }),
  ),
];
