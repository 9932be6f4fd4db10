/** Milliseconds of a turn of the event loop that reading, sending or handshakes may have. */
const USUAL_MS = 5;
/** And while clients come. */
const SHORT_MS = 0.5;
/** Nobody has come for so long: there is no line of those who wait to be let in. */
const PAUSE_MS = 20;

let lastCame = Number.NEGATIVE_INFINITY;

/** Says that a connection has been accepted. */
export function noteNewcomer(): void {
  lastCame = performance.now();
}

/**
 * When the time is up that each of reading, sending and handshakes has of this turn of the event loop. The runtime accepts
 * one connection in a turn, first come first served: where turns were long, a network of which a few hundred come each
 * second would keep everybody else waiting to be let in.
 *
 * @param now of `performance.now`
 */
export function endOfTurn(now = performance.now()): number {
  return now + (comesNobody(now) ? USUAL_MS : SHORT_MS);
}

/** Whether turns may have their usual length: there is no line of those who wait to be let in. */
export function comesNobody(now = performance.now()): boolean {
  return now - lastCame >= PAUSE_MS;
}
