import { z } from 'zod';
import { tokenSettingFields } from '../tokens/settings.ts';

export const userFields = { ...tokenSettingFields };
export const userSchema = z.object(userFields);
/** What is kept of a user beside the password. */
export type User = z.output<typeof userSchema>;
