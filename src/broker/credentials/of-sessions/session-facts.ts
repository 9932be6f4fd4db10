/** What of a session its credentials depend on. */
export interface SessionFacts {
  /** `s_…`. */
  id: string;
  /** Unix seconds. */
  expires_at: number;
}
