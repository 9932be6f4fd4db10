import type { CommandGroup } from '../command.ts';
import { policyTestCommand } from './policy-test.ts';
import { tidyCommand } from './tidy.ts';

export const pkiCommands: CommandGroup = {
  words: 'pki',
  summary: 'look after a certificate authority',
  commands: {
    policy: {
      words: 'pki policy',
      summary: 'try the rules of roles',
      commands: { test: policyTestCommand },
    },
    tidy: tidyCommand,
  },
};
