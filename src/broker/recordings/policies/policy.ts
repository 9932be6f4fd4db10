import { z } from 'zod';
import type { FieldErrors } from '../../resource/field-errors.ts';
import { wholeNumber } from '../../resource/fields.ts';
import type { ItemOf, Kind } from '../../resource/handler.ts';

/** Days that a storage policy gives, null where it does not speak of them, and whether one of an org may give others. */
export interface StoragePolicy {
  /** -1: for ever; 0: not at all. */
  retain_for_days: number | null;
  retain_for_overridable: boolean;
  /** 0: never. */
  delete_after_days: number | null;
  delete_after_overridable: boolean;
}

const daysOf = (what: string, days: string) =>
  z
    .strictObject({
      days: wholeNumber().nullish().describe(days),
      overridable: z
        .boolean()
        .nullish()
        .describe("Whether an org's own policy may say otherwise; true."),
    })
    .optional()
    .describe(what);

export const policyAttributes = {
  storage: z.object({
    retain_for: daysOf(
      'How long a recording must be kept.',
      '-1: for ever; 0: not at all; left out: as the global policy has it.',
    ),
    delete_after: daysOf(
      'When a recording is deleted.',
      '0: never; left out: as the global policy has it.',
    ),
  }),
};

const shownDays = z.object({ days: z.int(), overridable: z.boolean() });

export const policyShown = {
  attributes: z.object({
    retain_for: shownDays.optional(),
    delete_after: shownDays.optional(),
  }),
};

export interface PolicyKind extends Kind {
  attributes: typeof policyAttributes;
  shown: typeof policyShown;
  body: StoragePolicy;
}

export type PolicyItem = ItemOf<PolicyKind>;

export const NEW_POLICY: StoragePolicy = {
  retain_for_days: null,
  retain_for_overridable: true,
  delete_after_days: null,
  delete_after_overridable: true,
};

const FIELDS = ['retain_for', 'delete_after'] as const;
/** More than a lifetime of any recording; instants end at the year 9999. */
const MOST_DAYS = 2_000_000;

export function checkPolicy({ attributes = {} }: PolicyItem, errors: FieldErrors): void {
  for (const field of FIELDS) {
    const days = attributes[field]?.days;
    if (typeof days !== 'number') continue;
    const least = field === 'retain_for' ? -1 : 0;
    if (days < least || days > MOST_DAYS) {
      errors.add(`attributes.${field}.days`, `This must be from ${least} to ${MOST_DAYS}.`);
    }
  }
}

export const POLICY_PATHS = FIELDS.flatMap((field) => [
  `attributes.${field}`,
  `attributes.${field}.days`,
  `attributes.${field}.overridable`,
]);

/** A policy after a request: what it speaks of as it says, or as a new one has it where it says null. */
export function planPolicy(
  before: StoragePolicy,
  { attributes = {} }: PolicyItem,
  mask: readonly string[] | 'all',
): StoragePolicy {
  const next = { ...before };
  for (const field of FIELDS) {
    const sent = attributes[field];
    const speaksOf = (name: 'days' | 'overridable'): boolean =>
      mask === 'all' ||
      mask.includes(`attributes.${field}.${name}`) ||
      (mask.includes(`attributes.${field}`) && (!sent || sent[name] !== undefined));
    if (speaksOf('days')) next[`${field}_days`] = sent?.days ?? NEW_POLICY[`${field}_days`];
    if (speaksOf('overridable')) next[`${field}_overridable`] = sent?.overridable ?? true;
  }
  return next;
}

/** What is wrong with a policy as a whole: the field, and why. */
export function faultOfPolicy(
  policy: StoragePolicy,
): readonly [field: string, because: string] | undefined {
  const { retain_for_days: retain, delete_after_days: remove } = policy;
  if (!retain && !remove) {
    return ['attributes', 'One of retain_for and delete_after must be given.'];
  }
  if (!retain || !remove) return undefined;
  if (retain < 0) {
    return ['attributes.delete_after.days', 'What is retained for ever is never deleted.'];
  }
  if (remove < retain) {
    return ['attributes.delete_after.days', 'This must not be less than retain_for.days.'];
  }
  return undefined;
}
