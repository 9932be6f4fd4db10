/** Holds answers against what the OpenAPI document says of their operations. */

import type { LongBody } from '../../src/app/result.ts';
import { COMPATIBLE_VERSION } from '../../src/core/version.ts';
import { buildOpenApi } from '../../src/http/openapi.ts';
import type { HttpResponse } from '../../src/http/response.ts';
import { declaredRoutes } from '../../src/start/routes.ts';
import { listWholeApi } from '../../src/start/specs.ts';
import { lookOn } from './cpu-time.ts';
import { judgeValue, type Schema } from './schema-judge.ts';

interface Operation {
  operationId: string;
  parameters?: readonly { name: string; required?: boolean }[];
  responses: Readonly<Record<string, { $ref?: string }>>;
}

interface Response {
  content?: Readonly<Record<string, { schema: Schema }>>;
}

interface PathItem {
  parameters?: readonly { name: string; in: string }[];
  get?: Operation;
  post?: Operation;
  patch?: Operation;
  delete?: Operation;
}

interface Document {
  paths: Readonly<Record<string, PathItem>>;
  components: {
    schemas: Readonly<Record<string, Schema>>;
    responses: Readonly<Record<string, Response>>;
  };
}

/** The document of every engine, as `docs/api` has it. */
export const DOCUMENT = buildOpenApi(
  listWholeApi(declaredRoutes),
  COMPATIBLE_VERSION,
) as unknown as Document;

export const listOperations = (): Operation[] =>
  Object.values(DOCUMENT.paths).flatMap(({ get, post, patch, delete: remove }) =>
    [get, post, patch, remove].flatMap((operation) => operation ?? []),
  );

const OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  listOperations().map((operation) => [operation.operationId, operation]),
);

export function operationOf(id: string): Operation {
  const found = OPERATIONS.get(id);
  if (!found) throw new Error(`${id} is no operation`);
  return found;
}

/** What the frame itself may answer anybody with, whatever is asked. */
const EVERYWHERE: ReadonlySet<number> = new Set([
  400, 401, 403, 413, 415, 417, 421, 429, 431, 500, 503,
]);

/** Of a mount that has gone meanwhile, and in any namespace but the one that there is. */
const NOWHERE = /no handler for route|no such namespace/;

function isForAnybody(status: number, body: Uint8Array | string): boolean {
  if (status === 404) return NOWHERE.test(Buffer.from(body).toString());
  return EVERYWHERE.has(status);
}

/** The broker says no more of a path or method that is nobody's, and of what comes too often. */
const BARE: ReadonlySet<number> = new Set([400, 404, 405, 429]);

/** Longer answers are not looked at: they are lists of the same. */
const LONGEST = 64 << 10;

/**
 * An answer that is held against its declaration, when it is whole.
 *
 * @param complain is told the operation's id and the field's path
 */
export function watchAnswer(
  route: { id: string } | undefined,
  answer: HttpResponse,
  complain: (fault: string) => void,
): HttpResponse {
  const operation = route && OPERATIONS.get(route.id);
  if (!route || !operation) return answer;
  const judge = (body: Uint8Array | string): void => {
    const faults = lookOn(() => judgeAnswer(operation, { ...answer, body }));
    for (const fault of faults) complain(`${route.id} ${answer.status}: ${fault}`);
  };
  const { body = '' } = answer;
  if (typeof body === 'string' || body instanceof Uint8Array) {
    judge(body);
    return answer;
  }
  return { ...answer, body: seen(body, judge) };
}

/** The same body; what has gone through it is looked at when it ends. */
function seen(body: LongBody, judge: (whole: Uint8Array) => void): LongBody {
  if (body.length !== undefined) {
    if (body.length <= LONGEST) judge(Buffer.concat([...body.pieces()]));
    return body;
  }
  return {
    ...body,
    async *pieces() {
      const kept: Uint8Array[] = [];
      let length = 0;
      for await (const piece of body.pieces()) {
        length += piece.length;
        if (length <= LONGEST) kept.push(piece);
        yield piece;
      }
      if (length <= LONGEST) judge(Buffer.concat(kept));
    },
  };
}

/** @returns what is not as declared, by the path of its field */
export function judgeAnswer(
  operation: Operation,
  answer: { status: number; headers: Readonly<Record<string, string>>; body: Uint8Array | string },
): string[] {
  const { status, body } = answer;
  const declared =
    operation.responses[status] ??
    operation.responses[`${String(status)[0]}XX`] ??
    (isForAnybody(status, body) && operation.responses.default);
  if (!declared) return ['a status that is not declared'];
  const { content } = DOCUMENT.components.responses[nameIn(declared.$ref)] ?? {};
  if (body.length === 0) {
    const isBare = BARE.has(status) && nameIn(declared.$ref).startsWith('Boundary');
    return content === undefined || status === 202 || isBare ? [] : ['no body'];
  }
  if (!content) return ['a body that is not declared'];
  const type = answer.headers['content-type'] ?? '';
  const value: unknown =
    type === 'application/json' ? JSON.parse(Buffer.from(body).toString()) : undefined;
  const schema = isWrapped(value) ? WRAPPED : (content[type] ?? content['*/*'])?.schema;
  if (!schema) return [`media type "${type}"`];
  return value === undefined ? [] : judgeValue(DOCUMENT.components.schemas, schema, value);
}

const WRAPPED: Schema = { $ref: '#/components/schemas/VaultWrapped' };

const nameIn = (ref = ''): string => ref.slice(ref.lastIndexOf('/') + 1);

/** Any answer of the Vault API is wrapped where a header asks for it. */
function isWrapped(value: unknown): boolean {
  const info: unknown =
    typeof value === 'object' && value !== null && Reflect.get(value, 'wrap_info');
  return typeof info === 'object' && info !== null;
}
