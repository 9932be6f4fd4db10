import type { Scope } from '../resource.ts';
import type { ScopeType } from '../types.ts';

/** All scopes by id, the way every request needs them. */
export interface ScopeTree {
  byId: ReadonlyMap<string, Scope>;
  /** Ids of the scopes right beneath one. */
  children: ReadonlyMap<string, ReadonlySet<string>>;
  /** How many of each type there are. */
  counts: Readonly<Record<ScopeType, number>>;
}

/** A tree in which scopes come, change and go one by one. */
export class GrowingTree implements ScopeTree {
  readonly byId = new Map<string, Scope>();
  readonly children = new Map<string, Set<string>>();
  readonly counts: Record<ScopeType, number> = { global: 0, org: 0, project: 0 };

  /** Takes a scope in, or in the place of what it was. */
  put(scope: Scope): void {
    const { id, type, parent_scope_id } = scope;
    this.remove(id);
    this.byId.set(id, scope);
    this.counts[type] += 1;
    if (parent_scope_id === '') return;
    const siblings = this.children.get(parent_scope_id);
    if (siblings) siblings.add(id);
    else this.children.set(parent_scope_id, new Set([id]));
  }

  remove(id: string): void {
    const scope = this.byId.get(id);
    if (!scope) return;
    this.byId.delete(id);
    this.counts[scope.type] -= 1;
    const siblings = this.children.get(scope.parent_scope_id);
    siblings?.delete(id);
    if (siblings?.size === 0) this.children.delete(scope.parent_scope_id);
  }
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

/** How many {@link listSubtree} lists. */
export function countSubtree(tree: ScopeTree, scope_id: string): number {
  let count = 1;
  for (const child of tree.children.get(scope_id) ?? [])
    count += 1 + (tree.children.get(child)?.size ?? 0);
  return count;
}

export interface ScopeBody {
  /** Empty for none. */
  primary_auth_method_id: string;
}
