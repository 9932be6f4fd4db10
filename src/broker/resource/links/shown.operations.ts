import { type App, perApp } from '../../../app/app.ts';
import { FewInTurn } from '../../../core/fairness/few-in-turn.ts';
import { compareIds } from '../../../store/in-blocks.ts';
import { PAGE } from '../../../store/in-pages.ts';
import { listPlacesById, type Place } from '../by-ids.store.ts';
import { type LinkKind, listSomeLinksFrom } from './store.ts';

// What a thing is linked to is shown with it, and that may be ten thousand others: they are read page by page, and of
// each no more is kept than is shown.

/** What has more than a page of links is shown to few at once, and read anew then: those that wait hold nothing. */
const showingOf = perApp(() => new FewInTurn(4));

interface Of {
  from_id: string;
  kind: LinkKind;
}

/** The ids of what a resource is linked to, in byte order. */
export const showLinkedIds = (app: App, of: Of): Promise<string[]> =>
  showLinks(app, of, async (ids) => ids);

/** What is shown of each that a resource is linked to, in the byte order of their ids. */
export const showLinked = <Shown>(
  app: App,
  of: Of,
  show: (place: Place) => Shown,
): Promise<Shown[]> =>
  showLinks(app, of, async (ids) => {
    const places = await listPlacesById(app.db, ids);
    return places.sort((a, b) => compareIds(a.id, b.id)).map(show);
  });

type Show<Shown> = (ids: string[]) => Promise<Shown[]>;

async function showLinks<Shown>(app: App, of: Of, show: Show<Shown>): Promise<Shown[]> {
  const first = await listSomeLinksFrom(app.db, of, { after: '', limit: PAGE + 1 });
  if (first.length <= PAGE) return show(first);
  return showingOf(app).run(() => showAll(app, of, show));
}

async function showAll<Shown>({ db }: App, of: Of, show: Show<Shown>): Promise<Shown[]> {
  const shown: Shown[] = [];
  for (let after = ''; ; ) {
    const ids = await listSomeLinksFrom(db, of, { after, limit: PAGE });
    for (const one of await show(ids)) shown.push(one);
    const last = ids.at(-1);
    if (last === undefined || ids.length < PAGE) return shown;
    after = last;
  }
}
