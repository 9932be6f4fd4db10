import { judgeWith } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { omitEmpty } from '../../core/omit-empty.ts';
import type { Effect } from '../../store/write.ts';
import type { BrokerCaller } from '../resource/caller.ts';
import { type FieldErrors, IN_REQUEST, refuseField } from '../resource/field-errors.ts';
import { isOf, type ResourceHandler } from '../resource/handler.ts';
import { isIdOf, newResourceId } from '../resource/ids.ts';
import {
  deleteLinksFrom,
  hasLinksTo,
  holdLinksTo,
  insertLink,
  listLinksFrom,
  listLinksOfAll,
} from '../resource/links/store.ts';
import { BOUNDS, MOST_ALIASES_OF_TARGET } from '../resource/org-bounds/bounds.ts';
import { newResource } from '../resource/resource.ts';
import type { BoundaryReference } from '../resource/route.ts';
import { requireScope } from '../resource/scope-tree/operations.ts';
import { findResource, findResourceByKey, insertResource } from '../resource/store.ts';
import {
  type AliasBody,
  type AliasItem,
  type AliasKind,
  aliasAttributes,
  aliasFields,
  aliasKey,
  aliasShown,
  faultOfValue,
  hostIdOf,
  type WantedAlias,
} from './alias.ts';

const HOST_FIELD = 'attributes.authorize_session_arguments.host_id';

export const aliasDefinition: ResourceHandler<AliasKind> = {
  type: 'alias',
  containerField: 'scope_id',
  boundedField: 'destination_id',
  fields: aliasFields,
  attributes: aliasAttributes,
  shown: aliasShown,
  showsType: true,
  words: { stale: 'Alias "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, _parent, errors) {
    if (item.type === 'target') return 'target';
    errors.add('type', "This field is required. Current supported values are 'target'.");
    return '';
  },
  checkNew(item, _subtype, errors) {
    if (item.scope_id !== 'global') {
      errors.add('scope_id', 'This field is missing or improperly formatted.');
    }
    if (!item.value) errors.add('value', 'This field is required.');
    checkValue(item, errors);
    checkDestination(item, errors);
    if (hostIdOf(item.attributes) && !item.destination_id) {
      errors.add('destination_id', `This field is required when '${HOST_FIELD}' is specified.`);
    }
  },
  async planNew(app, _caller, { id, item }) {
    const { value = '', destination_id = '' } = item;
    if (destination_id !== '') await requireTarget(app, destination_id);
    const body: AliasBody = { value, host_id: hostIdOf(item.attributes) ?? '' };
    return {
      body,
      unique_key: aliasKey(value),
      effects: destination_id === '' ? [] : linkTo(id, destination_id),
    };
  },

  updatable: () => [
    'value',
    'destination_id',
    HOST_FIELD,
    'attributes.authorize_session_arguments',
  ],
  checkChange(item, { mask }, errors) {
    if (mask.includes('value') && !item.value) errors.add('value', 'This field is required.');
    checkValue(item, errors);
    checkDestination(item, errors);
  },
  async planChange(app, _caller, { resource, item, mask }) {
    const { body } = resource;
    const [present = ''] = await listLinksFrom(app.db, resource.id, 'alias-destination');
    const moves = mask.includes('destination_id');
    const destination_id = moves ? (item.destination_id ?? '') : present;
    if (moves && destination_id !== '' && destination_id !== present) {
      await requireTarget(app, destination_id);
    }
    const speaksOfHost = mask.some((path) => path.startsWith('attributes.'));
    const host_id = speaksOfHost ? (hostIdOf(item.attributes) ?? '') : body.host_id;
    if (speaksOfHost && host_id !== '' && destination_id === '') {
      refuseField(
        'destination_id',
        `This field is required when '${HOST_FIELD}' is specified.`,
        IN_REQUEST,
      );
    }
    const value = mask.includes('value') ? (item.value ?? '') : body.value;
    const next: AliasBody = {
      value,
      // A host belongs to its target: without one, or with one lost since, there is none.
      host_id: destination_id === '' || (present === '' && !speaksOfHost) ? '' : host_id,
    };
    const effects: Effect[] = moves
      ? [
          deleteLinksFrom(resource.id, 'alias-destination'),
          ...(destination_id === '' ? [] : linkTo(resource.id, destination_id)),
        ]
      : [];
    return { body: next, unique_key: aliasKey(value), effects };
  },

  async describe(app, _caller, aliases) {
    const links = await listLinksOfAll(
      app.db,
      aliases.map((alias) => alias.id),
      ['alias-destination'],
    );
    const destinations = new Map(links.map(({ from_id, to_id }) => [from_id, to_id]));
    return aliases.map(({ id, body: { value, host_id } }) => {
      const destination_id = destinations.get(id);
      return omitEmpty({
        value,
        destination_id,
        attributes:
          destination_id !== undefined && host_id !== ''
            ? { authorize_session_arguments: { host_id } }
            : undefined,
      });
    });
  },
};

function checkValue({ value = '' }: AliasItem, errors: FieldErrors): void {
  const fault = value === '' ? undefined : faultOfValue(value);
  if (fault !== undefined) errors.add('value', fault);
}

function checkDestination(item: AliasItem, errors: FieldErrors): void {
  if (item.destination_id !== undefined && !isIdOf(item.destination_id, 'target')) {
    errors.add('destination_id', 'Incorrectly formatted identifier.');
  }
  const host_id = hostIdOf(item.attributes);
  if (host_id && !isIdOf(host_id, 'host')) {
    errors.add(HOST_FIELD, 'Incorrectly formatted identifier.');
  }
}

async function requireTarget(app: App, id: string): Promise<void> {
  const target = await findResource(app.db, id);
  if (target?.type !== 'target') {
    refuseField('destination_id', `There is no target "${id}".`, IN_REQUEST);
  }
  if (await hasLinksTo(app.db, id, ALIASES_OF_TARGET)) {
    refuseField('destination_id', BOUNDS.aliases_of_target, IN_REQUEST);
  }
}

const ALIASES_OF_TARGET = {
  kind: 'alias-destination',
  most: MOST_ALIASES_OF_TARGET,
  conflict: BOUNDS.aliases_of_target,
} as const;

const linkTo = (from_id: string, to_id: string): Effect[] => [
  insertLink({ from_id, kind: 'alias-destination', to_id }),
  ...holdLinksTo([to_id], ALIASES_OF_TARGET),
];

/**
 * Aliases as part of a target's creation, in its write set.
 *
 * @throws Failure `not_found` for an unknown scope, `forbidden`, `invalid`
 */
export async function planAliases(
  app: App,
  caller: BrokerCaller,
  target_id: string,
  wanted: readonly WantedAlias[],
): Promise<Effect[]> {
  const effects: Effect[] = [];
  for (const { value, scope_id, host_id } of wanted) {
    const scope = await requireScope(app, scope_id);
    const { parent_scope_id } = scope;
    const place = { scope_id, parent_scope_id, type: 'alias' } as const;
    judgeWith(caller, () => {
      const { authorized } = caller.who.grants.judge({ ...place, action: 'create' });
      if (!authorized) throw new Failure('forbidden', 'Forbidden.');
    });
    const fault = faultOfValue(value);
    if (fault !== undefined) refuseField('with_aliases', fault, IN_REQUEST);
    if (host_id !== '' && !isIdOf(host_id, 'host')) {
      refuseField('with_aliases', `"${host_id}" is not a host's id.`, IN_REQUEST);
    }
    if (scope_id !== 'global') {
      refuseField('with_aliases', 'Aliases lie in the global scope.', IN_REQUEST);
    }
    const body: AliasBody = { value, host_id };
    const alias = newResource({
      id: newResourceId('alt', app.randomBytes(32)),
      type: 'alias',
      subtype: 'target',
      scope_id,
      unique_key: aliasKey(value),
      created_ms: app.now(),
      body,
    });
    effects.push(insertResource(alias), ...linkTo(alias.id, target_id));
  }
  return effects;
}

/** What an alias leads to. */
interface Destination {
  target_id: string;
  /** Empty for any. */
  host_id: string;
}

/** Where an alias leads, by its value in any case; undefined if nowhere. */
export async function findDestination(app: App, value: string): Promise<Destination | undefined> {
  const alias = await findResourceByKey(app.db, 'alias', aliasKey(value));
  if (!isOf(aliasDefinition, alias)) return undefined;
  const [target_id] = await listLinksFrom(app.db, alias.id, 'alias-destination');
  if (target_id === undefined) return undefined;
  return { target_id, host_id: alias.body.host_id };
}

/**
 * Puts a target's id in the place of an alias: text without an underscore.
 *
 * @throws Failure `not_found` for an alias that is unknown or leads nowhere
 */
export async function resolveAlias(
  app: App,
  request: BoundaryReference,
): Promise<BoundaryReference> {
  if (request.id === '' || request.id.includes('_')) return request;
  const destination = await findDestination(app, request.id);
  if (!destination) throw new Failure('not_found', 'Resource not found.');
  return { ...request, id: destination.target_id };
}
