import { statSync } from 'node:fs';
import { VERSION } from '../../core/version.ts';
import { backUp } from '../../store/backup.ts';
import type { Command } from '../command.ts';
import { formatOf } from '../output.ts';
import { PLACE_FLAGS, readPlace } from '../place.ts';

/** Said with every backup, for whoever believes that one file is enough. */
const NOT_IN_IT = `Not in it: what opens the seal (shares of the unseal key, the key file, or the key of
a device or transit engine) and the configuration. Keep those elsewhere; a backup without them is of
no use to anybody.`;

export const backupCommand: Command = {
  usage: 'operator backup (-config FILE | -data DIR) OUT',
  summary: 'write what the server keeps into a file, while it works',
  about: `Writes what the server keeps, as it is at one moment, into the new file OUT. The server goes on
working meanwhile. The same file restores into SQLite and into PostgreSQL. Secrets in it are sealed
as they are in the database, everything else is readable: the file's mode is 0600.

${NOT_IN_IT}`,
  flags: {
    ...PLACE_FLAGS,
    format: { value: 'json|table', help: 'how the outcome is written (table)' },
  },
  operands: ['OUT'],
  async run({ flags, rest: [out = ''] }) {
    const format = formatOf(flags);
    const facts = await backUp(readPlace(flags), out, { now: Date.now(), program: VERSION });
    const { size } = statSync(out);
    console.log(
      format === 'json'
        ? JSON.stringify({ file: out, bytes: size, ...facts })
        : `Backup written to ${out}, ${size} bytes, schema ${facts.schema}.\n\n${NOT_IN_IT}`,
    );
    return 0;
  },
};
