import type { LongBody } from '../app/result.ts';
import type { HttpResponse } from './response.ts';

/** Whether it is sent in pieces, and waits for its client. */
export const isLong = (body: HttpResponse['body']): body is LongBody =>
  typeof body === 'object' && !(body instanceof Uint8Array);

/**
 * An answer that is made while it is sent is made no further than its request is permitted: each piece but the first, which
 * says nothing of what is stored, is handed on only if it still is once that piece was read. If not, the answer breaks off.
 *
 * @param requireStill throws where it is permitted no more
 */
export function whilePermitted(
  encoded: HttpResponse,
  requireStill: () => Promise<void>,
): HttpResponse {
  const { body } = encoded;
  if (!isLong(body) || body.length !== undefined) return encoded;
  return {
    ...encoded,
    body: {
      ...body,
      async *pieces() {
        let isFirst = true;
        for await (const piece of body.pieces()) {
          if (!isFirst) await requireStill();
          isFirst = false;
          yield piece;
        }
      },
    },
  };
}
