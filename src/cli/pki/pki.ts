import type { CommandGroup } from '../command.ts';
import { tidyCommand } from './tidy.ts';

export const pkiCommands: CommandGroup = {
  words: 'pki',
  summary: 'look after a certificate authority',
  commands: { tidy: tidyCommand },
};
