import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Action } from './actions.ts';
import { describeResource } from './answers.operations.ts';
import type { BrokerCaller } from './caller.ts';
import { FieldErrors, IN_FIELDS } from './field-errors.ts';
import { wholeNumber } from './fields.ts';
import type { FieldsOf, Kind, ShownHandler, VerbRequest } from './handler.ts';
import { isIdOf } from './ids.ts';
import type { LinkVerbRequest } from './links/fields.ts';
import type { LinkChange } from './links/plan.ts';
import { itemAccess } from './location.operations.ts';
import { requireVersion } from './operations.ts';
import type { Resource } from './resource.ts';
import { type AnyBoundaryRoute, boundaryRoute } from './route.ts';
import { shownSchema } from './routes.ts';
import { RESOURCE_TYPES } from './types.ts';

type VerbItem<Shape> = FieldsOf<Shape> & { readonly version?: number | undefined };

/** What a verb route needs beyond what all of them have. */
interface VerbOptions<K extends Kind, Shape extends z.ZodRawShape, Checked> {
  fields: Shape;
  summary: string;
  /** What is wrong with the fields, and what they say; `id` and `version` are checked already. */
  check(item: VerbItem<Shape>, errors: FieldErrors, id: string): Checked;
  audit?: readonly string[];
  resolve?: NonNullable<AnyBoundaryRoute['resolve']>;
  run(
    app: App,
    caller: BrokerCaller,
    request: VerbRequest<K, Checked>,
  ): Promise<Resource<K['body']>>;
}

/** An endpoint `POST /v1/{plural}/{id}:{action}` that changes an item and answers with it. */
export function actionRoute<K extends Kind, Shape extends z.ZodRawShape, Checked>(
  definition: ShownHandler<K>,
  action: Action,
  options: VerbOptions<K, Shape, Checked>,
): AnyBoundaryRoute {
  const { type } = definition;
  return boundaryRoute({
    id: `${action}-${type}`,
    method: 'POST',
    path: `/v1/${RESOURCE_TYPES[type].plural}/{id}:${action}`,
    summary: options.summary,
    access: itemAccess(definition, action),
    input: z.object({
      version: wholeNumber().optional().describe('The latest known version.'),
      ...options.fields,
    }),
    output: shownSchema(definition),
    failures: ['invalid', 'conflict', 'unauthenticated', 'forbidden', 'not_found'],
    audit: ['version', ...(options.audit ?? [])],
    ...(options.resolve ? { resolve: options.resolve } : {}),
    check: (request) => {
      const { id } = request;
      // The schema has no other fields; what it reads of some that are not known here, it cannot say.
      const item = request.item as VerbItem<Shape>;
      const errors = new FieldErrors();
      if (!isIdOf(id, type)) errors.add('id', 'Incorrectly formatted identifier.');
      const { version = 0 } = item;
      if (version === 0) errors.add('version', 'Required field.');
      const checked = options.check(item, errors, id);
      errors.refuse(IN_FIELDS);
      return { version, checked };
    },
    run: async (app, caller, { checked: { version, checked } }, { resource }) => {
      requireVersion(definition, resource, version);
      const changed = await options.run(app, caller, { resource, checked });
      return { item: await describeResource(app, caller, definition, changed) };
    },
  });
}

/** What can be linked to an item: the word of three verbs, such as `hosts` of `add-hosts`. */
type Linked = Action extends infer Each ? (Each extends `add-${infer Word}` ? Word : never) : never;

/** The verbs that add, set and remove what an item is linked to. */
interface LinkOptions<K extends Kind, Shape extends z.ZodRawShape, Checked> {
  summaries: Readonly<Record<LinkChange, string>>;
  /** The lists of what is named; records have them all. */
  fields: Shape;
  check(
    item: VerbItem<Shape>,
    errors: FieldErrors,
    request: { change: LinkChange; id: string },
  ): Checked;
  resolve?: NonNullable<AnyBoundaryRoute['resolve']>;
  run(
    app: App,
    caller: BrokerCaller,
    request: LinkVerbRequest<K, Checked>,
  ): Promise<Resource<K['body']>>;
}

const CHANGES: readonly LinkChange[] = ['add', 'set', 'remove'];

/** `Add …`, `Replace …` and `Remove …`. */
export const summariesOf = (what: string): Record<LinkChange, string> => ({
  add: `Add ${what}`,
  set: `Replace ${what}`,
  remove: `Remove ${what}`,
});

/** `POST /v1/{plural}/{id}:add-{linked}`, `:set-{linked}` and `:remove-{linked}`. */
export function linkRoutes<K extends Kind, Shape extends z.ZodRawShape, Checked>(
  definition: ShownHandler<K>,
  linked: Linked,
  { summaries, fields, check, resolve, run }: LinkOptions<K, Shape, Checked>,
): AnyBoundaryRoute[] {
  return CHANGES.map((change) =>
    actionRoute<K, Shape, Checked>(definition, `${change}-${linked}`, {
      summary: summaries[change],
      fields,
      audit: Object.keys(fields),
      ...(resolve ? { resolve } : {}),
      check: (item, errors, id) => check(item, errors, { change, id }),
      run: (app, caller, request) => run(app, caller, { ...request, change }),
    }),
  );
}
