/**
 * The most CPU time that the thread spends between two turns of its loop while the work is under
 * way, in milliseconds: for so long nobody else is answered, whatever else the machine does.
 */
export async function longestTurn(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let last = cpuTime();
  const look = (): void => {
    const now = cpuTime();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  try {
    await work();
    look();
  } finally {
    clearInterval(timer);
  }
  return longest;
}

function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
