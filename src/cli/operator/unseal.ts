import { CLIENT_FLAGS, createApiClient } from '../api-client.ts';
import type { Command } from '../command.ts';
import { formatOf } from '../output.ts';
import { readSecret } from '../terminal.ts';
import { readStatus, statusText } from './status.ts';

export const unsealCommand: Command = {
  usage: 'operator unseal [flags]',
  summary: 'give one share of the unseal key',
  about: `Gives the server one share of the unseal key; with enough of them it is unsealed. The share is
asked for on the terminal, where it does not show, or read from standard input. It is not taken
from the command line, which every user of the machine can see.`,
  flags: {
    ...CLIENT_FLAGS,
    migrate: { value: true, help: 'move to the seal of the configuration from its former_seal' },
    reset: { value: true, help: 'forget the shares given so far; asks for one of the shares' },
  },
  async run({ flags }) {
    const format = formatOf(flags);
    const api = createApiClient(flags, process.env);
    // Nobody is asked for a share that the server has no use for, or cannot be given.
    let status = await readStatus(api);
    if (flags.has('reset')) {
      // Whoever shows a share may make the server forget those of the others; others may not.
      const isBegun = status.sealed === true && status.progress !== 0;
      const key = isBegun ? { key: await readSecret('Unseal share') } : {};
      status = await api.call('PUT', 'sys/unseal', { reset: true, ...key });
    } else if (status.sealed === true) {
      const migrate = flags.has('migrate');
      // A seal that was made without recovery shares has nobody who could give one.
      const isAsked = !migrate || status.t !== 0;
      const key = isAsked ? { key: await readSecret('Unseal share') } : {};
      status = await api.call('PUT', 'sys/unseal', { ...key, ...(migrate && { migrate }) });
    }
    console.log(statusText(status, format));
    return 0;
  },
};
