import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import { listTold } from '../../../core/key-list.ts';
import { listOwnSerials } from '../operations.ts';
import { describeDetails } from './details.ts';
import { listWithBytes } from './store.ts';

/** Rows of a page of serial numbers. */
const PAGE = 1000;
/** Certificates that are in memory at once: each may have a quarter of a MiB. */
const AT_ONCE = 10;

/** A serial number, and the how many-th of the list it is. */
interface Numbered {
  serial: string;
  number: number;
}

/** Stored certificates with what is told of each, in order of their serial numbers' text, or one page of them. */
export function listDetailed(
  app: App,
  caller: Caller,
  input: { after?: string | undefined; limit?: number | undefined },
) {
  const { id: mount_id } = caller.mount;
  const most = input.limit && input.limit > 0 ? input.limit : Number.POSITIVE_INFINITY;
  const read = async (last: Numbered | undefined): Promise<Numbered[]> => {
    const told = last?.number ?? 0;
    const limit = Math.min(PAGE, most - told);
    if (limit === 0) return [];
    const after = last?.serial ?? input.after ?? '';
    const serials = await listOwnSerials(app, mount_id, { after, limit });
    return serials.map((serial, at) => ({ serial, number: told + at + 1 }));
  };
  const breath = new Breath();
  return listTold({ read, keyOf: ({ serial }) => serial }, async function* tell(rows) {
    for (let at = 0; at < rows.length; at += AT_ONCE) {
      const serials = rows.slice(at, at + AT_ONCE).map(({ serial }) => serial);
      const found = new Map(
        (await listWithBytes(app.db, mount_id, serials)).map((row) => [row.serial, row]),
      );
      const info: Record<string, ReturnType<typeof describeDetails>> = {};
      for (const serial of serials) {
        const row = found.get(serial);
        if (row) info[serial] = describeDetails(row);
        await breath.take();
      }
      yield info;
    }
  });
}
