import { randomUUID } from 'node:crypto';
import { systemCaller } from '../../access/system-caller.ts';
import { buildRecord } from '../../audit/record.ts';
import type { BackupFacts } from '../../store/backup-file.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { build } from '../../store/database.ts';
import { restore } from '../../store/restore.ts';
import type { Store } from '../../store/store.ts';
import { write } from '../../store/write.ts';
import type { Command } from '../command.ts';
import { formatOf } from '../output.ts';
import { PLACE_FLAGS, readPlace } from '../place.ts';

export const restoreCommand: Command = {
  usage: 'operator restore (-config FILE | -data DIR) IN',
  summary: 'put a backup in the place of the database',
  about: `Puts a backup in the place of the database that the configuration names, on either engine. No
server may run on it, and it must be empty unless -force is given. Run it as the user that the
server runs as.

What happened after the backup is not in it: certificates issued since are unknown (their serial
numbers do not come again), and what was revoked since is not revoked until it is revoked again.
The backup is opened by the key file or the shares that the server had when it was taken; neither
is in it.`,
  flags: {
    ...PLACE_FLAGS,
    force: { value: true, help: 'replace everything that is in the database' },
    format: { value: 'json|table', help: 'how the outcome is written (table)' },
  },
  operands: ['IN'],
  async run({ flags, rest: [file = ''] }) {
    const format = formatOf(flags);
    const facts = await restore(readPlace(flags), file, {
      replace: flags.has('force'),
      finish: markRestored,
    });
    const taken_at = new Date(facts.taken_at_ms).toISOString();
    console.log(
      format === 'json'
        ? JSON.stringify({ file, ...facts })
        : `Restored what was kept at ${taken_at}.

What happened after that is not in it: revoke again what was revoked since. The server is opened
by the key file or the shares that it had then.`,
    );
    return 0;
  },
};

/**
 * As many as milliseconds in 34 years: numbers of CRLs follow the clock, so that those given out since the backup are among
 * them, wherever the clock stands now.
 */
const LOST_NUMBERS = 2 ** 40;

/** A CRL says what it was made from; none is made from this, so each is made again, under a number that none has had. */
export const outdateCrls = write(
  build
    .updateTable('pki_crl')
    .set((row) => ({ base: '', last_number: row('last_number', '+', LOST_NUMBERS) })),
);

/**
 * The chain goes on from the backup with a record that says so, because records with the same
 * numbers may have left the server since. The lists are made anew when they are next asked for:
 * those in the backup are older than what relying parties have seen.
 */
async function markRestored(store: Store, facts: BackupFacts): Promise<void> {
  const caller = systemCaller(randomUUID(), 'restored');
  caller.record.request = { taken_at: new Date(facts.taken_at_ms).toISOString(), ...facts };
  const audit = buildRecord(caller, Date.now(), { status: 'done' });
  await store.commit([outdateCrls, bumpConfigVersion(), { audit }]);
}
