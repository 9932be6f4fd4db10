import type { App } from '../../app/app.ts';
import type { Job, JobRun } from '../../app/job.ts';
import { deliverDue } from './delivery.operations.ts';
import { CHANNELS } from './settings.ts';
import { lookAhead } from './walking.operations.ts';

export const expirationJobs: readonly Job[] = [
  { name: 'pki/expiration', every_ms: 300_000, run: lookAhead },
  // Apart: a receiver that does not answer keeps nobody from looking ahead, nor a mail server, which may take minutes, webhooks.
  ...CHANNELS.map((channel) => ({
    name: `pki/expiration-${channel}`,
    every_ms: 20_000,
    run: (app: App, turn: JobRun) => deliverDue(app, turn, channel),
  })),
];
