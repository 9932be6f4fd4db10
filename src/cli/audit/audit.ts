import type { CommandGroup } from '../command.ts';
import { verifyCommand } from './verify.ts';

export const auditCommands: CommandGroup = {
  words: 'audit',
  summary: 'check audit records',
  commands: { verify: verifyCommand },
};
