import { z } from 'zod';
import { foldName } from '../../core/fold.ts';
import type { ItemOf, Kind } from '../resource/handler.ts';

/** What a target alias keeps; where it leads is a link, so that it goes with the target. */
export interface AliasBody {
  /** As it was written; found by its lower-case form. */
  value: string;
  /** Host that a session through the alias is for; empty for any. */
  host_id: string;
}

/** An alias that a new target is to be reached by; what is not said of it is empty. */
export interface WantedAlias {
  value: string;
  scope_id: string;
  host_id: string;
}

const hostArguments = z.strictObject({
  host_id: z.string().nullish().describe('Host that a session through the alias is for.'),
});

export const aliasFields = {
  value: z.string().optional().describe('The alias: labels joined by dots, like a DNS name.'),
  destination_id: z.string().optional().describe('The target that it stands for.'),
};

export const aliasAttributes = {
  target: z.object({
    authorize_session_arguments: hostArguments
      .optional()
      .describe('What is passed to authorize-session.'),
  }),
};

export const aliasShown = {
  value: z.string(),
  destination_id: z.string(),
  attributes: z.object({
    authorize_session_arguments: z.object({ host_id: z.string() }),
  }),
};

export interface AliasKind extends Kind {
  fields: typeof aliasFields;
  attributes: typeof aliasAttributes;
  shown: typeof aliasShown;
  body: AliasBody;
}

export type AliasItem = ItemOf<AliasKind>;

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

/** What is wrong with an alias's value, or undefined. @see B-70 */
export function faultOfValue(value: string): string | undefined {
  const labels = value.split('.', 254);
  const fits =
    value.length >= 1 &&
    value.length <= 253 &&
    labels.every((label) => LABEL.test(label)) &&
    !/^\d+$/.test(labels.at(-1) ?? '');
  return fits
    ? undefined
    : "An alias is made of labels joined by dots: letters, digits and hyphens, none at a label's ends, up to 63 a label and 253 in all, and the last label not all digits.";
}

/** Under what an alias is found. */
export const aliasKey = (value: string): string => foldName(value);

/** The host id of an alias's attributes; `undefined` when they do not say. */
export function hostIdOf(attributes: AliasItem['attributes']): string | null | undefined {
  const host_id = attributes?.authorize_session_arguments?.host_id;
  return host_id === '' ? null : host_id;
}
