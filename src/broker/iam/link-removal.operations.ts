import type { App } from '../../app/app.ts';
import type { EndingPages } from '../../app/ended.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { LinkKind } from '../resource/links/store.ts';
import { type Left, type LinkEnd, listLinksOfSome, unlink, unlinkAt } from './removal.store.ts';

/** Links removed by one write set: they take less than whatever else ends. */
export const LINKS = 2_000;

export async function unlinkBeforehand(
  work: EndingPages,
  kind: LinkKind,
  list: () => Promise<{ from_id: string; to_id: string }[]>,
): Promise<void> {
  for (;;) {
    const links = await list();
    if (links.length < LINKS) return;
    const ended = { links: links.length };
    await work.commit([...unlink(kind, links), ...bumpPermissionVersion()], ended);
  }
}

/** Removes the links at one end of some resources, page by page: each may have any number of them. */
export async function unlinkThoseAt(
  app: App,
  work: EndingPages,
  end: LinkEnd,
  { ids, but }: { ids: readonly string[]; but?: Left },
): Promise<void> {
  const page = { limit: LINKS, ...(but && { but }) };
  for (;;) {
    const links = await listLinksOfSome(app.db, end, ids, page);
    if (links.length < LINKS) return;
    const ended = { links: links.length };
    await work.commit([...unlinkAt(end, links), ...bumpPermissionVersion()], ended);
  }
}
