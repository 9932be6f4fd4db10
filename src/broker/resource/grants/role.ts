import { z } from 'zod';

/** What a role keeps in its body; its principals are links. */
export interface RoleBody {
  /** As they were written. */
  grant_strings: readonly string[];
  /** `this`, `children`, `descendants` or scope ids, in byte order. */
  grant_scope_ids: readonly string[];
}

const setByVerb = (verb: string) => z.unknown().optional().describe(`Set by \`:${verb}\`.`);

/** Fields of a role that only its verbs change. */
export const roleFields = {
  principal_ids: setByVerb('set-principals'),
  principals: setByVerb('set-principals'),
  grant_strings: setByVerb('set-grants'),
  grants: setByVerb('set-grants'),
  grant_scope_ids: setByVerb('set-grant-scopes'),
};
