import type { Job } from '../../app/job.ts';
import { tidyTokens } from './expiration.operations.ts';

export const tokenJobs: readonly Job[] = [
  // Nobody can use a token that has run out; this gives back the room, and what hung on it.
  { name: 'access/tokens', every_ms: 10_000, run: tidyTokens },
];
