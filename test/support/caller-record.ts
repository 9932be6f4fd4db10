import type { RecordFacts } from '../../src/app/caller.ts';
import { startTrace } from '../../src/http/request-record.ts';

/** What is recorded of a request from an address before anything else is known of it. */
export const recordFrom = (remote_address: string): RecordFacts =>
  startTrace('', remote_address).record;
