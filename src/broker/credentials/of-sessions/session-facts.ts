/** What of a session its credentials depend on. */
export interface SessionContext {
  /** `s_…`. */
  id: string;
  /** Unix seconds. */
  expires_at: number;
}
