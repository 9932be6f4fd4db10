import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Action } from './actions.ts';
import { describeResource } from './answers.operations.ts';
import type { BrokerCaller } from './caller.ts';
import { FieldErrors, IN_FIELDS } from './field-errors.ts';
import { wholeNumber } from './fields.ts';
import type { ResourceHandler, ResourceInput } from './handler.ts';
import { isIdOf } from './ids.ts';
import { locateItem, resourceAt } from './location.operations.ts';
import type { Resource } from './resource.ts';
import { type BoundaryRoute, boundaryRoute, type Located } from './route.ts';
import { resourceSchema, type StandardOptions } from './routes.ts';
import { RESOURCE_TYPES } from './types.ts';

/** What a verb route needs beyond what all of them have. */
interface VerbOptions {
  fields: z.ZodRawShape;
  summary: string;
  /** What is wrong with the fields; `id` and `version` are checked already. */
  check?(item: ResourceInput, errors: FieldErrors, id: string): void;
  audit?: readonly string[];
  resolve?: StandardOptions['resolve'];
  method?: 'GET' | 'POST';
  /** Whether the body carries the version that is changed. */
  versioned?: boolean;
  run(
    app: App,
    caller: BrokerCaller,
    request: { resource: Resource; item: ResourceInput; located: Located; query: URLSearchParams },
  ): Promise<Resource | Readonly<Record<string, unknown>>>;
}

/** An endpoint `POST /v1/{plural}/{id}:{action}` that answers with the item. */
export function actionRoute(
  definition: ResourceHandler,
  action: Action,
  options: VerbOptions,
): BoundaryRoute {
  const { plural } = RESOURCE_TYPES[definition.type];
  const versioned = options.versioned ?? true;
  return boundaryRoute({
    id: `${action}-${definition.type}`,
    method: options.method ?? 'POST',
    path: `/v1/${plural}/{id}:${action}`,
    summary: options.summary,
    access: { action, type: definition.type, locate: locateItem(definition) },
    input: z.object({
      ...(versioned
        ? { version: wholeNumber().optional().describe('The latest known version.') }
        : {}),
      ...options.fields,
    }),
    output: resourceSchema,
    failures: ['invalid', 'conflict', 'unauthenticated', 'forbidden', 'not_found'],
    audit: ['version', ...(options.audit ?? [])],
    ...(options.resolve ? { resolve: options.resolve } : {}),
    check: ({ id, item }) => {
      const errors = new FieldErrors();
      if (!isIdOf(id, definition.type)) errors.add('id', 'Incorrectly formatted identifier.');
      if (versioned && !item.version) errors.add('version', 'Required field.');
      options.check?.(item, errors, id);
      errors.refuse(IN_FIELDS);
    },
    run: async (app, caller, { item, query }, located) => {
      const resource = resourceAt(located);
      if (!located) throw new TypeError('a verb is about an item');
      const done = await options.run(app, caller, { resource, item, located, query });
      return isResource(done)
        ? { item: await describeResource(app, caller, definition, done) }
        : { body: done };
    },
  });
}

function isResource(value: Resource | Readonly<Record<string, unknown>>): value is Resource {
  return 'container_id' in value && 'created_ms' in value;
}
