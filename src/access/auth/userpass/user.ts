import type { z } from 'zod';
import { type HashCost, hashOfNobody } from '../../../core/password-hash.ts';
import { storedOf } from '../../../core/stored-fields.ts';
import { tokenSettingFields } from '../../tokens/settings.ts';

export const userFields = { ...tokenSettingFields };
/** As a user is kept. */
export const storedUser = storedOf(userFields);
/** What is kept of a user beside the password. */
export type User = z.output<typeof storedUser>;

/**
 * Cost of a check: 32 MiB and some 70 ms, which every guess costs as well. Hashes of old (scrypt) are checked by
 * their own derivation until their users log in, and nobody's name by this one, so it is chosen to cost the same:
 * in the median 71.6 ms of CPU for scrypt and 74.4 for this, two at once 72.2 and 76.3, each of which varies by
 * more than they differ (by 6 to 12 ms). Of one name five are checked in a quarter of an hour.
 */
export const HASH_COST: HashCost = { memory: 32_768, passes: 3, parallelism: 1 };

/** Stands for the hash of a user who does not exist, so that both take as long. */
export const NO_PASSWORD = hashOfNobody(HASH_COST);
