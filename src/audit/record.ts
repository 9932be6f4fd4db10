import type { Caller } from '../access/caller.ts';

/** How a request ended, as far as its record goes. */
export interface RecordedEnd {
  status: 'done' | 'refused' | 'failed';
  /** The refusal's own words; they never carry a secret. */
  error?: string;
}

/**
 * Builds the audit record of one request, from an allow-list of facts only: nothing that a
 * route has not named can be in it. Tokens appear as their keyed hash and accessor.
 *
 * @param now Unix milliseconds
 * @returns the text of a JSON object
 */
export function buildRecord(caller: Caller, now: number, end: RecordedEnd): string {
  const { record, token, mount } = caller;
  return JSON.stringify({
    time: new Date(now).toISOString(),
    request: {
      id: caller.request_id,
      route: record.route,
      operation: record.operation,
      path: record.path,
      mount: mount.path,
      mount_id: mount.id,
      remote_address: record.remote_address,
      data: record.request,
    },
    auth: token && {
      token: token.id,
      accessor: token.accessor,
      display_name: token.display_name,
      entity_id: token.entity_id || undefined,
      policies: token.policies,
    },
    response: { ...end, ...record.outcome },
  });
}
