import type { Tags } from './tags.ts';

/** What the broker keeps of a worker; its last report lies apart, since it never rests. */
export interface WorkerBody {
  /** Where clients reach it, `host:port`; empty before it has reported. */
  address: string;
  release_version: string;
  config_tags: Tags;
  api_tags: Tags;
  /** The server that this worker is a part of; empty for one that stands alone. */
  node: string;
}

/** What the keys begin with by which workers that stand alone are found once they are enrolled. */
export const ALONE_KEY = 'worker';

/** A worker that has been silent for longer is given no sessions. */
export const GRACE_MS = 15_000;
/** How often a worker reports. */
export const REPORT_MS = 5_000;

/** `host:port` as clients dial it. */
export function formatAddress({ host, port }: { host: string; port: number }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** A node's name as a worker may be called: lower case. */
export function workerNameOf(node: string): string {
  return node.toLowerCase();
}
