/** What is kept of a user, besides the accounts that stand for them. */
export interface UserBody {
  /** Their entity, shared with the certificate authority's side; empty before the first log-in. */
  entity_id: string;
  /** Policies that their tokens have besides the default one. */
  policies: readonly string[];
}
