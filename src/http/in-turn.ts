import { scarceHeap } from '../core/fairness/scarce-heap.ts';
import { waitsForBody } from './head-weight.ts';

// What is begun, or gone on with, when there is memory for that.

/** Does a request. A client that holds its body back takes no place from others. */
export function beginInTurn<Answer>(
  request: Parameters<typeof waitsForBody>[0],
  work: () => Promise<Answer>,
): Promise<Answer> {
  if (waitsForBody(request)) return work();
  return scarceHeap.passFirst()?.then(work) ?? work();
}

/** Goes on with a body that has come late. */
export function goOnInTurn<Body>(body: Body): Body | Promise<Body> {
  return scarceHeap.passFirst()?.then(() => body) ?? body;
}
