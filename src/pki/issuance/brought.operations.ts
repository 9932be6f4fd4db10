import { judgeAgainWith } from '../../access/standing/operations.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { type Soon, whenThere } from '../../core/steps.ts';

/**
 * Judges names as if they had been sent as fields, whatever form they come in; those of the last plan
 * again whenever the request is judged again.
 */
export function judgeBringing(caller: Caller): (names: readonly NamesBrought[]) => Soon<void> {
  let brought: readonly NamesBrought[] = [];
  const judgeFrom = (at: number): Soon<void> => {
    const one = brought[at];
    if (!one) return;
    return whenThere(caller.mayBring?.(one), (may) => {
      requireBrought(may);
      return judgeFrom(at + 1);
    });
  };
  judgeAgainWith(caller, () => judgeFrom(0));
  return (names) => {
    brought = names;
    return judgeFrom(0);
  };
}

function requireBrought(may: boolean | undefined): void {
  if (may === false) throw new Failure('forbidden', 'permission denied');
}

type NamesBrought = Parameters<NonNullable<Caller['mayBring']>>[0];
