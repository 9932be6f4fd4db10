// Loaded before the server's own modules (`node --import`): tells its parent, when asked, how
// long the event loop was held since the last time, and how much memory there is.

import { monitorEventLoopDelay, performance } from 'node:perf_hooks';

/** What the probe answers; times in milliseconds. */
export interface LoopReport {
  /** The longest that nothing else could run, by a timer of our own. */
  longest: number;
  /** The same by Node's own histogram, without the timer's resolution of a millisecond. */
  histogram_longest: number;
  /** The most CPU time that the thread spent between two turns: free of what else the machine does. */
  longest_cpu: number;
}

const histogram = monitorEventLoopDelay({ resolution: 1 });
histogram.enable();
let longest = 0;
let longest_cpu = 0;
let last = performance.now();
let lastCpu = cpuTime();

function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

setInterval(() => {
  const now = performance.now();
  longest = Math.max(longest, now - last - 1);
  last = now;
  const cpu = cpuTime();
  longest_cpu = Math.max(longest_cpu, cpu - lastCpu);
  lastCpu = cpu;
}, 1).unref();

process.on('message', () => {
  const report: LoopReport = {
    longest,
    histogram_longest: histogram.max / 1e6 - 1,
    longest_cpu,
  };
  process.send?.(report);
  longest = 0;
  longest_cpu = 0;
  histogram.reset();
});
process.channel?.unref();
