import type { App } from '../../app/app.ts';
import type { EndingPages } from '../../app/ended.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { LinkKind } from '../resource/links/store.ts';
import { type Left, type LinkEnd, listLinksOfSome, unlink, unlinkAt } from './removal.store.ts';

/** A link is less than what else ends: as many go in one write set as one request names. */
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

/** What a thousand groups, or any number of targets, lead to may be one of these, or what leads to as many. */
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
