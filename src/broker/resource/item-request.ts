import { z } from 'zod';
import { Failure } from '../../core/failure.ts';
import { checkChanged, checkNew, FieldErrors, IN_REQUEST, refuseField } from './field-errors.ts';
import {
  type ItemOf,
  type Kind,
  type ResourceHandler,
  type SentOf,
  type ShownHandler,
  wordsOf,
} from './handler.ts';
import { isIdOf, parseId } from './ids.ts';
import type { ListRequest } from './lists/query.ts';
import type { BoundaryRequest, Fields } from './route.ts';
import { RESOURCE_TYPES, type ResourceTypeName } from './types.ts';

/** @throws Failure `invalid` */
export function requireIdForm(
  { type }: Pick<ShownHandler, 'type'>,
  id: string,
  because: string,
  message = IN_REQUEST,
): void {
  if (!isIdOf(id, type)) refuseField('id', because, message);
}

/** What a new item is to be, as far as the request tells. */
interface CheckedNew<K extends Kind> {
  item: ItemOf<K>;
  subtype: string;
  wanted: K['wanted'];
}

export function checkCreation<K extends Kind>(
  definition: ResourceHandler<K>,
  { item: sent, query }: BoundaryRequest<SentOf<K>>,
): CheckedNew<K> {
  const errors = new FieldErrors();
  checkNew(sent, errors);
  const container_id = sent[definition.containerField] ?? '';
  const parent = parseId(container_id)?.subtype;
  const inParent = RESOURCE_TYPES[definition.type].parent !== undefined;
  const subtype =
    definition.chooseSubtype?.(sent, inParent ? parent : undefined, errors) ??
    (inParent ? subtypeOfParent(sent, parent, errors) : definition.type);
  const item = withAttributes(definition, sent, subtype);
  checkContainerForm(definition, container_id, errors);
  const wanted = definition.checkNew(item, subtype, errors, query);
  errors.refuse(IN_REQUEST);
  return { item, subtype, wanted };
}

/** The subtype that is shared with what the item would lie in; none where that has no form of an id. */
export function subtypeOfParent(
  { type }: { readonly type?: string | undefined },
  parent: string | undefined,
  errors: FieldErrors,
): string {
  if (parent !== undefined && type && type !== parent) {
    errors.add('type', "Doesn't match the parent resource's type.");
  }
  return parent ?? '';
}

/** What is listed must at least look like what holds such items. */
export function checkPlaceForm(
  { type, containerField }: Pick<ShownHandler, 'type' | 'containerField'>,
  { place }: ListRequest,
): void {
  if (hasPlaceForm(type, place)) return;
  const { parent, levels } = RESOURCE_TYPES[type];
  const because = parent
    ? 'Invalid formatted identifier.'
    : levels.length === 1
      ? `Must be '${levels[0]}' when listing.`
      : levels.includes('project')
        ? 'Must be a valid scope id when listing.'
        : "Must be 'global' or a valid org scope id when listing.";
  refuseField(containerField, because, 'Improperly formatted identifier.');
}

function hasPlaceForm(type: ResourceTypeName, id: string): boolean {
  const { parent, levels } = RESOURCE_TYPES[type];
  return parent ? isIdOf(id, parent) : levels.some((level) => isIdOf(id, 'scope', level));
}

/** What an item lies in must at least look like what holds such items. */
function checkContainerForm(
  { type, containerField }: Pick<ShownHandler, 'type' | 'containerField'>,
  container_id: string,
  errors: FieldErrors,
): void {
  // What a scope can lie in follows from what it is to be.
  if (type === 'scope' || hasPlaceForm(type, container_id)) return;
  const { parent, levels } = RESOURCE_TYPES[type];
  const because = parent
    ? 'This field must be a valid id.'
    : levels.length === 1
      ? `This field must be a valid ${levels[0]} scope id.`
      : levels.includes('project')
        ? 'Improperly formatted field.'
        : "Must be 'global' or a valid org scope id.";
  errors.add(containerField, because);
}

export function checkUpdate<K extends Kind>(
  definition: ResourceHandler<K>,
  { id, item: sent, mask }: BoundaryRequest<SentOf<K>>,
): { item: ItemOf<K>; change: K['change'] } {
  const errors = new FieldErrors();
  if (!isIdOf(id, definition.type)) errors.add('id', wordsOf(definition).malformedUpdate);
  else checkChanged(sent, errors);
  const subtype = parseId(id)?.subtype ?? '';
  if (definition.showsType && sent.type !== undefined && sent.type !== subtype) {
    errors.add('type', 'Cannot modify the resource type.');
  }
  const item = withAttributes(definition, sent, subtype);
  if (errors.has('id')) errors.refuse(IN_REQUEST);
  const change = definition.checkChange(item, { subtype, mask }, errors);
  errors.refuse(IN_REQUEST);
  return { item, change };
}

/** Attributes as the subtype's schema reads them; null and absent are alike. */
function withAttributes<K extends Kind>(
  definition: ResourceHandler<K>,
  item: SentOf<K>,
  subtype: string,
): ItemOf<K> {
  if (item.attributes === undefined) return withRead(item, undefined);
  const given = Object.fromEntries(
    Object.entries(item.attributes).filter(([, value]) => value !== null),
  );
  const schemas: Readonly<Record<string, z.ZodObject>> = definition.attributes ?? {};
  // It is refused for its type; what else is wrong with it is told as well, as far as it can be read.
  if (subtype === '') return withRead(item, readAny(Object.values(schemas), given));
  const { shape } = schemas[subtype] ?? NONE;
  const read = z.strictObject(shape).safeParse(given);
  if (!read.success || Object.keys(item.attributes).some((key) => !(key in shape))) {
    throw new Failure('invalid', IN_REQUEST, {
      fields: { attributes: 'Attribute fields do not match the expected format.' },
    });
  }
  return withRead(item, read.data);
}

const NONE = z.object({});

/** What attributes hold is typed from here on. */
const withRead = <K extends Kind>(item: SentOf<K>, attributes: Fields | undefined): ItemOf<K> =>
  ({ ...item, attributes }) as ItemOf<K>;

/** Attributes that fit one of the subtypes. */
function readAny(schemas: readonly z.ZodObject[], given: Fields): Fields {
  const read: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const kinds = schemas.flatMap(({ shape }) => (Object.hasOwn(shape, name) ? shape[name] : []));
    const fits = kinds.map((kind) => z.safeParse(kind, value)).find(({ success }) => success);
    if (fits) read[name] = fits.data;
  }
  return read;
}
