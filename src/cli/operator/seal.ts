import { CLIENT_FLAGS, createApiClient } from '../api-client.ts';
import type { Command } from '../command.ts';
import { formatOf } from '../output.ts';

export const sealCommand: Command = {
  usage: 'operator seal [flags]',
  summary: 'seal the server: its keys are wiped from memory',
  about: `Seals the server: its keys are wiped from memory, and it signs and reads nothing until it is
unsealed. Needs a token that may update sys/seal with sudo. Each node is sealed by itself.`,
  flags: CLIENT_FLAGS,
  async run({ flags }) {
    const format = formatOf(flags);
    await createApiClient(flags, process.env).call('PUT', 'sys/seal');
    console.log(format === 'json' ? '{"sealed":true}' : 'The server is sealed.');
    return 0;
  },
};
