import { startWalk } from '../../../access/concurrency/walks.operations.ts';
import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import { type BrokerCaller, refuseCaller } from '../caller.ts';
import type { OutputFields } from '../grants/verdict.ts';
import type { ShownHandler } from '../handler.ts';
import { requireResource } from '../operations.ts';
import { readScopeTree, requireScope } from '../scope-tree/operations.ts';
import { countSubtree, listSubtree } from '../scope-tree/tree.ts';
import { RESOURCE_TYPES } from '../types.ts';
import type { RemovalSight } from './removals.operations.ts';

/** Which items a caller may see, container by container. */
export interface ListAccess extends RemovalSight {
  /** Containers of which everything is seen. */
  all: string[];
  /** Containers of which the caller sees what is theirs. */
  own: string[];
  /** Single items that are seen, by the container that they must lie in. */
  named: Map<string, readonly ReadonlySet<string>[]>;
  /** All of them. */
  listed: Set<string>;
  /** Fields that may be shown, by scope. */
  fields: Map<string, OutputFields>;
  /** How many containers of the kind there are in all. */
  of: number;
}

/** Scopes that are visited in one turn of a caller's. */
const SCAN_BATCH = 500;

/** Whether a list visits more scopes than one turn allows, and holds much until it is made. */
export async function isWide(app: App, place: string, recursive: boolean): Promise<boolean> {
  return recursive && countSubtree(await readScopeTree(app), place) > SCAN_BATCH;
}

/**
 * Finds out what of the listed containers the caller may see.
 *
 * @throws Failure `invalid`, `not_found`, `unauthenticated`, `forbidden`
 */
export async function resolveListAccess(
  app: App,
  caller: BrokerCaller,
  definition: ShownHandler,
  place: string,
  recursive: boolean,
): Promise<ListAccess> {
  const { parent } = RESOURCE_TYPES[definition.type];
  if (parent !== undefined)
    return resolveScopeAccess(app, caller, definition, { type: parent }, place);
  const { levels } = RESOURCE_TYPES[definition.type];
  const tree = await readScopeTree(app);
  await requireScope(app, place);
  const scopes = recursive ? listSubtree(tree, place) : [place];
  const access = emptyListAccess();
  const counted = new Set<string>();
  /** Whether a scope counts: by itself, by the one above it, or by the global one. */
  const counts = (scope_id: string, parent_scope_id: string) => {
    const at = { scope_id, parent_scope_id, type: definition.type };
    const verdict = caller.who.grants.judge({ ...at, action: 'list' });
    if (verdict.authorized) counted.add(scope_id);
    const inherits = recursive && (counted.has(parent_scope_id) || counted.has('global'));
    return verdict.authorized || inherits ? { at, verdict } : undefined;
  };
  const breath = new Breath();
  const visit = async (scope_id: string): Promise<void> => {
    await breath.take();
    const scope = tree.byId.get(scope_id);
    const found = scope && counts(scope_id, scope.parent_scope_id);
    if (!found) return;
    if (definition.type === 'scope' ? scope_id.startsWith('p_') : !levels.includes(scope.type)) {
      return;
    }
    access.fields.set(scope_id, found.verdict.output_fields);
    addVisible(access, caller, definition, scope_id, found.at);
  };
  // Somebody's roles may be asked about each of ten thousand scopes.
  const walk = startWalk(app, caller);
  for (let at = 0; at < scopes.length; at += SCAN_BATCH) {
    await walk(async () => {
      for (const scope_id of scopes.slice(at, at + SCAN_BATCH)) await visit(scope_id);
    });
  }
  if (recursive) {
    access.outer = scopes.filter((id) => !id.startsWith('p_'));
    access.listedIn = (scope_id, parent_scope_id) =>
      counts(scope_id, parent_scope_id) !== undefined;
  }
  if (counted.size === 0) {
    // Upstream's clients know this one refusal of nobody in particular by 403.
    throw recursive ? new Failure('forbidden', 'Forbidden.') : refuseCaller(caller);
  }
  access.of = levels.reduce((sum, level) => sum + tree.counts[level], 0);
  return access;
}

async function resolveScopeAccess(
  app: App,
  caller: BrokerCaller,
  definition: ShownHandler,
  parentType: Pick<ShownHandler, 'type'>,
  parent_id: string,
): Promise<ListAccess> {
  const parent = await requireResource(app, parentType, parent_id);
  const scope = await requireScope(app, parent.scope_id);
  const at = {
    scope_id: scope.id,
    parent_scope_id: scope.parent_scope_id,
    type: definition.type,
  };
  const listed = caller.who.grants.judge({ ...at, action: 'list', pin: parent_id });
  if (!listed.authorized) throw refuseCaller(caller);
  const access = emptyListAccess();
  access.fields.set(scope.id, listed.output_fields);
  addVisible(access, caller, definition, parent_id, at);
  return access;
}

export function emptyListAccess(): ListAccess {
  return {
    all: [],
    own: [],
    named: new Map(),
    listed: new Set(),
    outer: [],
    listedIn: () => false,
    fields: new Map(),
    of: 1,
  };
}

function addVisible(
  access: ListAccess,
  caller: BrokerCaller,
  definition: ShownHandler,
  container_id: string,
  at: { scope_id: string; parent_scope_id: string; type: ShownHandler['type'] },
): void {
  const { actions } = RESOURCE_TYPES[definition.type];
  const visible = caller.who.grants.describeVisibility(at, actions);
  access.listed.add(container_id);
  if (visible.all || visible.pins.some((pins) => pins.has(container_id)))
    access.all.push(container_id);
  else if (visible.own && actions.some((action) => action.endsWith(':self'))) {
    access.own.push(container_id);
  }
  if (visible.ids.length > 0) access.named.set(container_id, visible.ids);
}
