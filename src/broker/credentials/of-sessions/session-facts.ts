/** What of a session its credentials depend on. */
export interface SessionContext {
  /** `s_…`. */
  id: string;
  /** Unix seconds. */
  expires_at: number;
}

/** What becomes of injected credentials of a target. */
export type InjectionVerdict =
  | { kind: 'used' }
  /** Of a target whose protocol no worker logs in by. */
  | { kind: 'unused' }
  | { kind: 'refused'; because: string };
