import type { CommandGroup } from '../command.ts';
import { httpCommand } from './http.ts';
import { plainCommand } from './plain.ts';
import { psqlCommand } from './psql.ts';
import { sshCommand } from './ssh.ts';

export const connectCommands: CommandGroup = {
  words: 'connect',
  summary: plainCommand.summary,
  itself: plainCommand,
  commands: { ssh: sshCommand, psql: psqlCommand, http: httpCommand },
};
