import { z } from 'zod';
import { requireCidrs } from '../../../config/cidrs.ts';
import { invalid } from '../../../core/failure.ts';
import { duration, flag, integer } from '../../../core/fields.ts';
import { patchOf } from '../../../core/patches.ts';
import { storedOf } from '../../../core/stored-fields.ts';
import { blockList } from '../../tokens/field-kinds.ts';
import { checkTokenSettings, tokenSettingFields } from '../../tokens/settings.ts';

export const approleFields = {
  bind_secret_id: flag(true).describe('A log-in needs a secret ID, not the role ID alone.'),
  local_secret_ids: flag(false).describe(
    'Kept and answered; said when the role is made, and not changed.',
  ),
  secret_id_bound_cidrs: blockList([]).describe('Addresses to log in from. Empty: all.'),
  secret_id_num_uses: integer(0).describe('Log-ins a secret ID is good for. 0: unlimited.'),
  secret_id_ttl: duration(0).describe('How long a secret ID lives. Seconds; 0: for ever.'),
  ...tokenSettingFields,
};
/** As a role is kept. */
export const storedApprole = storedOf(approleFields);
export const approlePatch = patchOf(approleFields);
export type Approle = z.output<typeof storedApprole>;

/**
 * @param stored what it was
 * @throws Failure `invalid` for what cannot go together, or would let anybody in
 */
export function checkApprole(role: Approle, stored: Approle | undefined): void {
  checkTokenSettings(role, stored);
  if (stored && role.local_secret_ids !== stored.local_secret_ids) {
    throw invalid('local_secret_ids can only be modified during role creation');
  }
  if (role.secret_id_num_uses < 0) throw invalid('secret_id_num_uses cannot be negative');
  requireCidrs('secret_id_bound_cidrs', role.secret_id_bound_cidrs);
  // A role ID is no secret; without either it would be the only thing asked for.
  const isBound = role.secret_id_bound_cidrs.length > 0 || role.token_bound_cidrs.length > 0;
  if (!role.bind_secret_id && !isBound) {
    throw invalid(
      'at least one constraint should be enabled on the role: bind_secret_id, secret_id_bound_cidrs or token_bound_cidrs',
    );
  }
}

/** A role as it is read. */
export const approleReply = z.object({
  ...approleFields,
  secret_id_bound_cidrs: z
    .array(z.string())
    .nullable()
    .describe('Addresses to log in from; null: all.'),
});
export type ApproleReply = z.output<typeof approleReply>;

export function describeApprole(role: Approle): ApproleReply {
  const { secret_id_bound_cidrs: cidrs } = role;
  return { ...role, secret_id_bound_cidrs: cidrs.length > 0 ? cidrs : null };
}
