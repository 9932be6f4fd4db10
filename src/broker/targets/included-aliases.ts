import { z } from 'zod';
import { recordedAs } from '../../core/recorded-shape.ts';
import type { WantedAlias } from '../aliases/alias.ts';
import type { FieldErrors } from '../resource/field-errors.ts';
import type { Fields } from '../resource/route.ts';

const recordedAlias = z.object({
  value: z.string().nullish(),
  scope_id: z.string().nullish(),
  attributes: z
    .object({ authorize_session_arguments: z.object({ host_id: z.string().nullish() }).nullish() })
    .nullish(),
});

/** Aliases that come with a new target. */
export const includedAliases = recordedAs(
  z.array(z.record(z.string(), z.unknown())).optional().describe('Aliases made with the target.'),
  z.array(recordedAlias),
);

/** Aliases that are made with one target; more can be made by themselves. */
const MAX_ALIASES = 100;

/** What is wrong with them, and what they say; they are looked at further once they are made. */
export function readAliases(aliases: readonly Fields[], errors: FieldErrors): WantedAlias[] {
  const isKnown = (field: string): boolean => Object.hasOwn(recordedAlias.shape, field);
  if (aliases.length > MAX_ALIASES) {
    errors.add('with_aliases', `At most ${MAX_ALIASES} aliases can be made with a target.`);
    return [];
  }
  if (aliases.every((alias) => Object.keys(alias).every(isKnown))) return aliases.map(readAlias);
  errors.add(
    'with_aliases',
    'Included aliases can only specify a value, a scope id, and attributes.',
  );
  return [];
}

function readAlias({ value, scope_id, attributes }: Fields): WantedAlias {
  const read = recordedAlias.shape.attributes.safeParse(attributes);
  const host_id = read.data?.authorize_session_arguments?.host_id ?? '';
  return { value: textOf(value), scope_id: textOf(scope_id), host_id };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
