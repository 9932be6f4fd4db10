import type { z } from 'zod';
import { storedOf } from '../../../core/stored-fields.ts';
import { tokenSettingFields } from '../../tokens/settings.ts';

export const userFields = { ...tokenSettingFields };
/** As a user is kept. */
export const storedUser = storedOf(userFields);
/** What is kept of a user beside the password. */
export type User = z.output<typeof storedUser>;
