import type { LongBody } from '../app/result.ts';

/** A response ready to be sent. */
export interface HttpResponse {
  status: number;
  headers: Record<string, string>;
  /** `Set-Cookie` values, a header line each. */
  cookies?: readonly string[];
  body: string | Uint8Array | LongBody | undefined;
}

/** As {@link HttpResponse}, or of another thread. */
export interface SentResponse extends Omit<HttpResponse, 'body'> {
  body: HttpResponse['body'] | ForwardedBody;
}

/** One of known length that another thread has made, and hands over piece by piece. */
export interface ForwardedBody {
  length: number;
  pieces(): AsyncIterable<Uint8Array>;
}
