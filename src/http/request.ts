import type { Caller } from '../app/caller.ts';

/** A request as the listener read it. */
export interface HttpRequest {
  method: string;
  /** As it came: path and query, nothing decoded. */
  url: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Names and values by turns, as they came: of a header that came twice both values. */
  raw_headers: readonly string[];
  remote_address: string;
  /** Reads the whole body; called at most once, after the caller is known. */
  readBody(limit: number): Promise<Uint8Array>;
  /** Whether the whole body has come by now. */
  hasCome(): boolean;
  /** Counts what is made of the body until the request is answered; throws where there is no room. */
  keep(bytes: number): void;
  /** As {@link Caller.onGone}. */
  onGone?: Caller['onGone'];
}

/** The first of a header's values. */
export function header(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
