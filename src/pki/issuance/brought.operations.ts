import { judgeAgainWith } from '../../access/standing/operations.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import type { Soon } from '../../core/steps.ts';

/**
 * Judges names as if they had been sent as fields, whatever form they come in; those of the last plan
 * again whenever the request is judged again.
 */
export function judgeBringing(caller: Caller): (names: NamesBrought) => Soon<void> {
  let brought: NamesBrought | undefined;
  const judge = (): Soon<void> => {
    const may = brought && caller.mayBring?.(brought);
    return may instanceof Promise ? may.then(requireBrought) : requireBrought(may);
  };
  judgeAgainWith(caller, judge);
  return (names) => {
    brought = names;
    return judge();
  };
}

function requireBrought(may: boolean | undefined): void {
  if (may === false) throw new Failure('forbidden', 'permission denied');
}

type NamesBrought = Parameters<NonNullable<Caller['mayBring']>>[0];
