import { saveAsRead } from '../../store/as-read.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { build, type Db, prepared } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import { type Defaults, NO_DEFAULTS } from './state.ts';

const authorityRow = prepared((sql, p: { mount_id: string }) =>
  sql.selectFrom('pki_authority').selectAll().where('mount_id', '=', p.mount_id),
);

export async function readDefaults(db: Db, mount_id: string): Promise<Defaults> {
  const row = await authorityRow.first(db, { mount_id });
  if (!row) return NO_DEFAULTS;
  return {
    version: row.version,
    default_issuer: row.default_issuer,
    default_key: row.default_key,
    default_follows_latest_issuer: row.follows_latest === 1,
    issuing_version: row.issuing_version,
  };
}

/**
 * Belongs into every write set that changes keys, issuers or defaults: what was decided by
 * `defaults.version` is refused when somebody changed the set in the meantime.
 *
 * @param defaults the new values, with the version that was read
 */
export function saveDefaults(mount_id: string, defaults: Defaults): Write[] {
  const values = {
    default_issuer: defaults.default_issuer,
    default_key: defaults.default_key,
    follows_latest: defaults.default_follows_latest_issuer ? (1 as const) : (0 as const),
    version: defaults.version + 1,
    issuing_version: defaults.issuing_version,
  };
  const save = write(
    build
      .insertInto('pki_authority')
      .values({ mount_id, ...values })
      .onConflict((clash) =>
        clash
          .column('mount_id')
          .doUpdateSet(values)
          .where('pki_authority.version', '=', defaults.version),
      ),
    { rows: 1, conflict: 'the issuers and keys of the mount are being changed: try again' },
  );
  return [save, bumpConfigVersion()];
}

/** @returns the record's JSON text */
export async function findConfig(
  db: Db,
  mount_id: string,
  name: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('pki_config')
    .select('body')
    .where('mount_id', '=', mount_id)
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.body;
}

/**
 * Belongs into a write set with {@link saveDefaults}, by whose version nobody else changes it.
 *
 * @param body JSON text
 */
export function saveConfig(mount_id: string, name: string, body: string): Write[] {
  const save = write(
    build
      .insertInto('pki_config')
      .values({ mount_id, name, body })
      .onConflict((clash) => clash.columns(['mount_id', 'name']).doUpdateSet({ body })),
    { rows: 1 },
  );
  return [save, bumpConfigVersion()];
}

/** @param texts.read the record that is being replaced, as it was read; undefined for none */
export function saveConfigAsRead(
  key: { mount_id: string; name: string },
  { read, body }: { read: string | undefined; body: string },
): Write[] {
  const row = { key, read: read === undefined ? undefined : { body: read }, next: { body } };
  return [saveAsRead('pki_config', row), bumpConfigVersion()];
}
