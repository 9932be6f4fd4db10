import { setTimeout as delay } from 'node:timers/promises';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { NothingResult } from '../../app/output.ts';
import { addEnded } from '../../core/ended-counts.ts';
import { invalid } from '../../core/failure.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { FewInTurn } from '../../core/fairness/few-in-turn.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Effect } from '../../store/write.ts';
import { removeLogInsAfterCommit } from '../leases/ended-tokens.operations.ts';
import { commitPlanned } from '../standing/attempts.operations.ts';
import { refuseDeniedNow, requireAtNow } from '../standing/operations.ts';
import { deleteEntity, listEntitiesById, takeEntities } from './entities.store.ts';
import type { Entity } from './entity.ts';
import { deleteMemberships } from './memberships.store.ts';
import { endLogInsBeforehand, pagesOf, planAliasRemoval } from './operations.ts';
import { CONCERNED, ownPaths } from './own-paths.ts';

export async function removeEntityBatch(
  app: App,
  caller: Caller,
  input: { entity_ids: readonly string[] },
): Promise<NothingResult> {
  if (input.entity_ids.length === 0) {
    throw invalid('missing entity ids to delete: entity_ids is a list of ids');
  }
  // The caller's own last, which is also that of the tokens above theirs: without it there may be no more
  // that is permitted.
  const own = caller.token?.entity_id;
  const ids = [...new Set(input.entity_ids)].sort((a, b) => Number(a === own) - Number(b === own));
  const pathOf = (id: string): string => `${caller.mount.path}entity/id/${id}`;
  const find = (some: readonly string[]) => async () => {
    await requireAtNow(caller, 'delete', some.map(pathOf));
    const found = await listEntitiesById(app.db, some);
    const pathsOf = (entity: Entity) => ownPaths(caller, 'entity', entity, CONCERNED);
    await refuseDeniedNow(caller, found.flatMap(pathsOf));
    return found;
  };
  // As each of them by itself, by its id and its name, before the first of them goes.
  await requireAtNow(caller, 'delete', ids.map(pathOf));
  const breath = new Breath();
  for (let at = 0; ids.length > PAGE && at < ids.length; at += PAGE) {
    await breath.take();
    await find(ids.slice(at, at + PAGE))();
  }
  while (ids.length > PAGE) {
    const some = ids.splice(0, PAGE);
    await pagesInTurn(app).run(() => withRest(() => removePage(app, caller, some, find)));
  }
  return removeEntities(app, caller, find(ids));
}

/** Entities that one write set removes: others write in between. */
const PAGE = 25;

/** Pages of removals, of one network one after the other: while one is written nobody else writes what permissions rest on. */
const pagesInTurn = perApp(() => new FewInTurn(2));

/** Rests as long as something took: however many entities are removed, others have half of the time. */
async function withRest(run: () => Promise<void>): Promise<void> {
  const began = performance.now();
  await run();
  await delay(performance.now() - began);
}

/** Removes some of those that a request removes, with a record of their own. */
async function removePage(
  app: App,
  caller: Caller,
  entity_ids: readonly string[],
  find: (ids: readonly string[]) => () => Promise<readonly Entity[]>,
): Promise<void> {
  const { record } = caller;
  const request = { ...record.request, entity_ids };
  const outcome = { ...record.outcome, ending: true };
  const some = { ...caller, record: { ...record, request, outcome } };
  const entities = await commitRemoval(app, some, find(entity_ids));
  addEnded(record.ended_before, { entities });
}

/** Log-ins of a removed entity end, on both APIs, and what was made from them. */
export async function removeEntities(
  app: App,
  caller: Caller,
  find: () => Promise<readonly (Entity | undefined)[]>,
): Promise<NothingResult> {
  await commitRemoval(app, caller, find);
  await removeLogInsAfterCommit(app, caller);
  return {};
}

/** @returns how many of them were there */
async function commitRemoval(
  app: App,
  caller: Caller,
  find: () => Promise<readonly (Entity | undefined)[]>,
): Promise<number> {
  return commitPlanned<number>(app, caller, async () => {
    const found = (await find()).flatMap((entity) => entity ?? []);
    if (found.length === 0) return { effects: [], result: 0 };
    const ids = idsOf(found);
    const beforehand = {
      of: `entity ${ids.join()}`,
      end: () => endBeforehand(app, caller, ids),
    };
    return { effects: await planRemoval(app, found), result: found.length, beforehand };
  });
}

const idsOf = (entities: readonly Entity[]): string[] => entities.map(({ id }) => id);

/** What would be much for one write set ends before. */
async function endBeforehand(
  app: App,
  caller: Caller,
  entity_ids: readonly string[],
): Promise<void> {
  await endLogInsBeforehand(app, caller, { entity_ids });
  await app.endDependants(app, await pagesOf(app, caller), { entity_ids });
}

async function planRemoval(app: App, entities: readonly Entity[]): Promise<Effect[]> {
  const entity_ids = idsOf(entities);
  return [
    // Before their aliases and users, and so before the log-ins that came by them: none comes later.
    takeEntities(entity_ids),
    ...(await planAliasRemoval(app, { entity_ids })),
    ...(await app.planDependants(app, { entity_ids })),
    ...entities.map(deleteEntity),
    deleteMemberships('entity', entity_ids),
    ...bumpPermissionVersion(),
  ];
}
