import type { Scope } from '../resource.ts';

/** All scopes by id, the way every request needs them. */
export interface ScopeTree {
  byId: ReadonlyMap<string, Scope>;
  /** Ids of the scopes right beneath one. */
  children: ReadonlyMap<string, readonly string[]>;
}

export function buildTree(scopes: readonly Scope[]): ScopeTree {
  const children = new Map<string, string[]>();
  for (const { id, parent_scope_id } of scopes) {
    if (parent_scope_id === '') continue;
    const known = children.get(parent_scope_id);
    if (known) known.push(id);
    else children.set(parent_scope_id, [id]);
  }
  return { byId: new Map(scopes.map((scope) => [scope.id, scope])), children };
}

/** A scope and everything beneath it, itself first. */
export function listSubtree(tree: ScopeTree, scope_id: string): string[] {
  const found = [scope_id];
  for (const id of found) {
    // One by one: a call takes only so many values.
    for (const child of tree.children.get(id) ?? []) found.push(child);
  }
  return found;
}
