import type { Caller } from '../app/caller.ts';
import { Failure } from '../core/failure.ts';

/**
 * Does long work for a client that may go meanwhile.
 *
 * @param work is given what is to be called between two steps: it throws once the client has gone
 */
export async function whileConnected<Result>(
  { onGone }: Pick<Caller, 'onGone'>,
  work: (requireConnected: () => void) => Promise<Result>,
): Promise<Result> {
  let isGone = false;
  const forget = onGone?.(() => {
    isGone = true;
  });
  try {
    return await work(() => {
      // Nobody reads it; the record has it.
      if (isGone) throw new Failure('unavailable', 'the client has gone');
    });
  } finally {
    forget?.();
  }
}
