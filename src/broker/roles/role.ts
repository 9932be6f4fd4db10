/** What a role keeps in its body; its principals are links. */
export interface RoleBody {
  /** As they were written. */
  grant_strings: readonly string[];
  /** `this`, `children`, `descendants` or scope ids, in byte order. */
  grant_scope_ids: readonly string[];
}
