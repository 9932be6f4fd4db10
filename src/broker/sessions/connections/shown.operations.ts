import { type App, perApp } from '../../../app/app.ts';
import { FewInTurn } from '../../../core/fairness/few-in-turn.ts';
import { PAGE } from '../../../store/in-pages.ts';
import { describeConnection } from './connection.ts';
import { type ConnectionCursor, listSomeConnections } from './store.ts';

/** The most connections that are shown of a session, which may have had any number. */
const MOST_SHOWN = 10_000;

/** More than a page is shown to few at once: those that wait hold nothing. */
const showingOf = perApp(() => new FewInTurn(4));

/**
 * The newest connections of a session as they are shown, the newest first.
 *
 * @param had how many it has had
 */
export async function showConnections(app: App, session_id: string, had: number): Promise<Shown[]> {
  const show = () => showNewest(app, session_id);
  return had > PAGE ? showingOf(app).run(show) : show();
}

type Shown = ReturnType<typeof describeConnection>;

async function showNewest({ db }: App, session_id: string): Promise<Shown[]> {
  const shown: Shown[] = [];
  for (let before: ConnectionCursor | undefined; shown.length < MOST_SHOWN; ) {
    const page = await listSomeConnections(db, session_id, before, PAGE);
    for (const connection of page) shown.push(describeConnection(connection));
    before = page.at(-1);
    if (page.length < PAGE) break;
  }
  return shown;
}
