import type { Db } from '../../../store/database.ts';

/** Whether a bucket holds recordings. */
export async function hasRecordingsIn(db: Db, bucket_id: string): Promise<boolean> {
  const row = await db
    .selectFrom('session_recording')
    .select('id')
    .where('bucket_id', '=', bucket_id)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
