import { z } from 'zod';
import { Failure } from '../../core/failure.ts';
import { checkChanged, checkNew, FieldErrors, IN_REQUEST, refuseField } from './field-errors.ts';
import { type ResourceHandler, type ResourceInput, wordsOf } from './handler.ts';
import { isIdOf, parseId } from './ids.ts';
import type { BoundaryRequest } from './route.ts';
import { RESOURCE_TYPES } from './types.ts';

/** @throws Failure `invalid` */
export function requireIdForm(definition: ResourceHandler, id: string, because: string): void {
  if (!isIdOf(id, definition.type)) refuseField('id', because, IN_REQUEST);
}

export function checkCreation(
  definition: ResourceHandler,
  { item: sent }: BoundaryRequest,
  options: { checkContainer?(item: ResourceInput, errors: FieldErrors): void },
): { item: ResourceInput; subtype: string } {
  const errors = new FieldErrors();
  checkNew(sent, errors);
  const container_id = String(sent[definition.containerField] ?? '');
  const parent = parseId(container_id)?.subtype;
  const inParent = RESOURCE_TYPES[definition.type].parent !== undefined;
  const subtype = definition.chooseSubtype(sent, inParent ? parent : undefined, errors);
  const item = withAttributes(definition, sent, subtype);
  checkContainerForm(definition, container_id, errors);
  options.checkContainer?.(item, errors);
  definition.checkNew(item, subtype, errors);
  errors.refuse(IN_REQUEST);
  return { item, subtype };
}

/** What is listed must at least look like what holds such items. */
export function checkPlaceForm(
  { type, containerField }: ResourceHandler,
  query: URLSearchParams,
): void {
  const place = query.get(containerField) ?? '';
  const { parent, levels } = RESOURCE_TYPES[type];
  const fits = parent
    ? isIdOf(place, parent)
    : levels.some((level) => isIdOf(place, 'scope', level));
  if (fits) return;
  const because = parent
    ? 'Invalid formatted identifier.'
    : levels.length === 1
      ? `Must be '${levels[0]}' when listing.`
      : levels.includes('project')
        ? 'Must be a valid scope id when listing.'
        : "Must be 'global' or a valid org scope id when listing.";
  refuseField(containerField, because, 'Improperly formatted identifier.');
}

/** What an item lies in must at least look like what holds such items. */
function checkContainerForm(
  definition: ResourceHandler,
  container_id: string,
  errors: FieldErrors,
): void {
  const { parent, levels } = RESOURCE_TYPES[definition.type];
  if (parent !== undefined) {
    if (!isIdOf(container_id, parent)) {
      errors.add(definition.containerField, 'This field must be a valid id.');
    }
    return;
  }
  if (levels.length === 1 && levels[0] === 'project' && !isIdOf(container_id, 'scope', 'project')) {
    errors.add('scope_id', 'This field must be a valid project scope id.');
  }
}

export function checkUpdate(
  definition: ResourceHandler,
  { id, item: sent, mask }: BoundaryRequest,
): ResourceInput {
  const errors = new FieldErrors();
  if (!isIdOf(id, definition.type)) errors.add('id', wordsOf(definition).malformedUpdate);
  else checkChanged(sent, errors);
  const subtype = parseId(id)?.subtype ?? '';
  if (definition.showsType && sent.type !== undefined && sent.type !== subtype) {
    errors.add('type', 'Cannot modify the resource type.');
  }
  const item = withAttributes(definition, sent, subtype);
  if (!errors.has('id')) definition.checkChange(item, { subtype, mask }, errors);
  errors.refuse(IN_REQUEST);
  return item;
}

/** Attributes as the subtype's schema reads them; null and absent are alike. */
function withAttributes(
  definition: ResourceHandler,
  item: Readonly<Record<string, unknown>>,
  subtype: string,
): ResourceInput {
  const { attributes } = item;
  if (typeof attributes !== 'object' || attributes === null) return item;
  const given = Object.fromEntries(
    Object.entries(attributes).filter(([, value]) => value !== null),
  );
  if (subtype === '') return { ...item, attributes: given };
  const schema = definition.attributes?.[subtype] ?? z.object({});
  const read = z.strictObject(schema.shape).safeParse(given);
  if (!read.success || Object.keys(attributes).some((key) => !(key in schema.shape))) {
    throw new Failure('invalid', IN_REQUEST, {
      fields: { attributes: 'Attribute fields do not match the expected format.' },
    });
  }
  return { ...item, attributes: read.data };
}
