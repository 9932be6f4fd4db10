import type { CommandGroup } from '../command.ts';
import { initCommand } from './init.ts';
import { sealCommand } from './seal.ts';
import { statusCommand } from './status.ts';
import { unsealCommand } from './unseal.ts';

export const operatorCommands: CommandGroup = {
  words: 'operator',
  summary: 'look after a server: initialise, unseal, back up',
  commands: {
    init: initCommand,
    unseal: unsealCommand,
    seal: sealCommand,
    status: statusCommand,
    backup: {
      summary: 'write what the server keeps into a file, while it works',
      load: async () => (await import('./backup.ts')).backupCommand,
    },
    restore: {
      summary: 'put a backup in the place of the database',
      load: async () => (await import('./restore.ts')).restoreCommand,
    },
  },
};
