import { build, type Db } from '../../store/database.ts';
import { holdRoom } from '../../store/room.ts';
import { type Write, write } from '../../store/write.ts';
import { type AuditedHeaders, MOST_HEADERS } from './header.ts';

export async function listAuditedHeaders(db: Db): Promise<AuditedHeaders> {
  const rows = await db.selectFrom('audit_header').selectAll().orderBy('name').execute();
  return new Map(rows.map(({ name, hmac }) => [name, { hmac: hmac === 1 }]));
}

export function saveAuditedHeader(name: string, { hmac }: { hmac: boolean }): Write {
  const kept = { hmac: Number(hmac) };
  return write(
    build
      .insertInto('audit_header')
      .values({ name, ...kept })
      .onConflict((clash) => clash.column('name').doUpdateSet(kept)),
    { rows: 1 },
  );
}

/** Refuses its write set when there are too many by it. */
export const holdHeaderRoom = (): Write =>
  holdRoom('audit_header', MOST_HEADERS, 'another header took the last room');

export function deleteAuditedHeader(name: string): Write {
  return write(build.deleteFrom('audit_header').where('name', '=', name));
}
