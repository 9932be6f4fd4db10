/** CPU time of this thread that the work takes, in milliseconds: free of what else the machine does. */
export function cpuOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
