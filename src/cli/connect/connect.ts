import type { CommandGroup } from '../command.ts';
import { httpCommand } from './http.ts';
import { plainCommand } from './plain.ts';
import { psqlCommand } from './psql.ts';
import { sshCommand } from './ssh.ts';

export const connectCommands: CommandGroup = {
  words: 'connect',
  summary: plainCommand.summary,
  itself: plainCommand,
  otherwise:
    'and for any other tool gatehouse connect TARGET -listen HOST:PORT and the tool at that address',
  commands: { ssh: sshCommand, psql: psqlCommand, http: httpCommand },
};
