import type { LongBody } from '../app/result.ts';

/** A response ready to be sent. */
export interface HttpResponse {
  status: number;
  headers: Record<string, string>;
  /** `Set-Cookie` values, a header line each. */
  cookies?: readonly string[];
  body: string | Uint8Array | LongBody | undefined;
}
