import { sql } from 'kysely';
import { build, type Db } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import type { AuditedHeaders } from './header.ts';

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

const COUNT = sql<number>`count(*)`;

/** Refuses its write set when there are too many by it. It comes after `bumpConfigVersion` (docs/adr/0017). */
export function holdRoom(most: number): Write {
  const all = build.selectFrom('audit_header').select(COUNT.as('count'));
  const few = all.having(COUNT, '<=', most);
  return write(few, { rows: 1, conflict: 'another header took the last room' });
}

export function deleteAuditedHeader(name: string): Write {
  return write(build.deleteFrom('audit_header').where('name', '=', name));
}
