import { type ApiClient, CLIENT_FLAGS, createApiClient } from '../api-client.ts';
import type { Command } from '../command.ts';
import { type Format, formatOf, pairs } from '../output.ts';

/** The exit codes are those that scripts for this API know. */
export const statusCommand: Command = {
  usage: 'operator status [flags]',
  summary: 'say how the server and its seal are',
  about: `Says how the server and its seal are. The exit code is 0 when it is unsealed, 2 when it is
sealed or not initialised, and 1 when that cannot be told.`,
  flags: CLIENT_FLAGS,
  async run({ flags }) {
    const format = formatOf(flags);
    const api = createApiClient(flags, process.env);
    const status = await readStatus(api);
    console.log(statusText(status, format));
    return status.sealed === false ? 0 : 2;
  },
};

export function readStatus(api: ApiClient): Promise<Record<string, unknown>> {
  return api.call('GET', 'sys/seal-status');
}

/** The answer of `sys/seal-status` for people or scripts. */
export function statusText(status: Record<string, unknown>, format: Format): string {
  if (format === 'json') return JSON.stringify(status, null, 2);
  const isUnsealing = status.sealed === true && status.initialized === true && status.n !== 0;
  return pairs([
    ['Seal type', status.type],
    ['Initialised', status.initialized],
    ['Sealed', status.sealed],
    ['Shares', status.n],
    ['Threshold', status.t],
    ...(isUnsealing ? [['Given so far', `${status.progress} of ${status.t}`] as const] : []),
    ['API version', status.version],
    ['Storage', status.storage_type],
    ...(status.cluster_name === undefined
      ? []
      : ([
          ['Cluster name', status.cluster_name],
          ['Cluster ID', status.cluster_id],
        ] as const)),
  ]);
}
