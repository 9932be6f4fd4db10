/** Milliseconds of CPU time that the work below takes on a machine on which bounds of CPU time were set. */
const USUAL_MS = 20;
const ROUNDS = 10_000_000;
/** Beyond this a machine is not slow but something is wrong. */
const MOST = 3;

/**
 * How many times slower this machine is just now than those on which bounds of CPU time were set, 1 at least:
 * virtual machines are given less of a processor at times, and that is no fault of what is measured.
 */
export function slowness(): number {
  const taken = Array.from({ length: 3 }, () => {
    const before = process.threadCpuUsage();
    let sum = 0;
    for (let at = 0; at < ROUNDS; at++) sum += at % 7;
    const { user, system } = process.threadCpuUsage(before);
    return sum > 0 ? (user + system) / 1000 : 0;
  });
  return Math.min(MOST, Math.max(1, Math.max(...taken) / USUAL_MS));
}
