import { z } from 'zod';
import { formsOf } from '../../app/output.ts';
import { authAnswerSchema, wrapInfoSchema } from '../../app/result.ts';
import type { ApiStyle, DocumentedAnswer } from '../documented-api.ts';
import type { Json } from '../json-schemas.ts';
import { refTo } from '../shared-schemas.ts';
import { STATUS } from './wire.ts';

// What documents say of the Vault API's answers: as `wire.ts` encodes them.

const orNull = (schema: z.ZodType) => z.union([schema, z.null()]);

const envelope = {
  request_id: z.string().describe('As audit records have it.'),
  lease_id: z.string().describe('Empty where nothing is leased.'),
  renewable: z.boolean().describe('Of the lease.'),
  lease_duration: z.int().describe('Of the lease, in seconds.'),
  wrap_info: orNull(wrapInfoSchema).describe(
    'Where the header `X-Vault-Wrap-TTL` asks for that: `data` and `auth` are null then, whatever else is said of them.',
  ),
  warnings: z.array(z.string()).nullable(),
  auth: orNull(authAnswerSchema),
};
const mount_type = z.string().describe('Of the engine, e.g. `pki`.');
// As an object: clients of strict types lose fields that can be nothing but null.
const data = z.object({}).nullable().describe('Always null.');

const SCHEMAS = {
  VaultEnvelope: z.object({ ...envelope, mount_type }),
  VaultDataless: z.object({ ...envelope, mount_type, data }),
  VaultAuthenticated: z.object({ ...envelope, mount_type, data, auth: authAnswerSchema }),
  VaultWrapped: z.object({ ...envelope, data, wrap_info: wrapInfoSchema, auth: z.null() }),
  VaultWrapInfo: wrapInfoSchema,
  VaultAuth: authAnswerSchema,
  VaultErrors: z.object({
    errors: z.array(z.string()).describe('Empty for what is not there.'),
    warnings: z.array(z.string()).optional(),
  }),
};

export const VAULT_STYLE: ApiStyle = {
  name: 'Vault',
  schemas: SCHEMAS,
  refusal: 'VaultErrors',
  answersOf: ({ output, status = 200 }, ref) =>
    formsOf(output).flatMap((form) => answersOf(form, status, ref)),
  status: (kind) => STATUS[kind],
};

function answersOf(
  form: ReturnType<typeof formsOf>[number],
  status: number,
  ref: (payload: z.ZodType) => Json,
): DocumentedAnswer[] {
  switch (form.form) {
    case 'data': {
      const answer = json(status, '`data`', around(ref(form.schema)));
      return [{ ...answer, payload: form.schema }];
    }
    case 'flat': {
      const schema = around(ref(form.schema), ref(form.schema));
      const answer = json(status, '`data`, and the same beside it', schema);
      return [{ ...answer, payload: form.schema }];
    }
    case 'bare': {
      const answer = json(status, 'an object, without an envelope', ref(form.schema));
      return [{ ...answer, payload: form.schema }];
    }
    case 'bytes':
      return [bytes(form.media_type), NO_CONTENT];
    case 'auth':
      return [json(status, 'a token, in `auth`', refTo('VaultAuthenticated'))];
    case 'lease':
      return [json(status, "a lease, in the envelope's own fields", refTo('VaultDataless'))];
    case 'wrap':
      return [json(status, 'a wrapped answer, in `wrap_info`', refTo('VaultWrapped'))];
    case 'stored':
      return [json(status, 'what was put away', STORED), bytes('*/*'), NO_CONTENT];
    case 'nothing':
      return status === 202 ? ACCEPTED : [NO_CONTENT, tellWarnings(200)];
    case 'accepted':
      return ACCEPTED;
  }
}

const NO_CONTENT: DocumentedAnswer = { status: 204, says: 'no content' };

const json = (status: number, says: string, schema: Json): DocumentedAnswer => ({
  status,
  says,
  body: { media_type: 'application/json', schema },
});

const tellWarnings = (status: number): DocumentedAnswer =>
  json(status, 'warnings, where there are any', refTo('VaultDataless'));

const ACCEPTED: DocumentedAnswer[] = [{ status: 202, says: 'no content' }, tellWarnings(202)];

const anyObject = (description: string): Json => ({
  type: 'object',
  additionalProperties: true,
  description,
});

const STORED = anyObject('The answer of another endpoint, as that is described.');

const bytes = (media_type: string): DocumentedAnswer => ({
  status: 200,
  says: `bytes, \`${media_type}\``,
  body: { media_type, schema: media_type === 'application/json' ? WRITTEN : BYTES },
});

const BYTES: Json = { type: 'string', format: 'binary' };

const WRITTEN = anyObject('A document of a form of its own.');

function around(payload: Json, ...beside: readonly Json[]): Json {
  const data = { type: 'object', properties: { data: payload }, required: ['data'] };
  return { allOf: [refTo('VaultEnvelope'), ...beside, data] };
}
