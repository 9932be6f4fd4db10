import { type App, perApp } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { type Soon, whenThere } from '../../../core/steps.ts';
import { listResourcesById } from '../by-ids.store.ts';
import { scopeTypeOf } from '../ids.ts';
import type { Resource, Scope } from '../resource.ts';
import { listOfType } from '../store.ts';
import { listChangedScopes, readScopeState, type ScopeState } from './store.ts';
import { GrowingTree, type ScopeBody, type ScopeTree } from './tree.ts';

/** All scopes, as they are since any node changed one. */
export function readScopeTree(app: App): Soon<ScopeTree> {
  return app.cached('broker/scopes', () => knownScopesOf(app).renew(app), ['broker/scopes']);
}

/** All scopes as they were read last: of many thousands few change at a time, and those alone are read anew. */
class KnownScopes {
  #tree = new GrowingTree();
  /** The last change that is in it. */
  #known: ScopeState | undefined;
  #renewing: Promise<unknown> = Promise.resolve();

  /** One at a time: who comes later goes on from where the one before came to. */
  renew(app: App): Promise<ScopeTree> {
    const renewing = this.#renewing.then(() => this.#read(app));
    this.#renewing = renewing.catch(() => undefined);
    return renewing;
  }

  async #read({ db }: App): Promise<ScopeTree> {
    // What changes after this was read is read again the next time.
    const state = await readScopeState(db);
    const known = this.#known;
    // Of what was changed by hand, or by an older program, there is no telling what it was.
    const isTold = known && (known.version === state.version || known.change !== state.change);
    const changed = isTold ? await listChangedScopes(db, known.change, state.change) : undefined;
    if (changed) {
      const present = new Map((await listResourcesById(db, changed)).map((one) => [one.id, one]));
      for (const id of changed) {
        const resource = present.get(id);
        if (resource) this.#tree.put(scopeOf(resource));
        else this.#tree.remove(id);
      }
    } else {
      const tree = new GrowingTree();
      await listOfType(db, 'scope', (resource) => tree.put(scopeOf(resource)));
      this.#tree = tree;
    }
    this.#known = state;
    return this.#tree;
  }
}

const knownScopesOf = perApp(() => new KnownScopes());

/** What is known of a scope, from its row. */
export const scopeOf = ({ id, name, description, scope_id, body }: Resource): Scope => ({
  id,
  type: scopeTypeOf(id),
  name,
  description,
  parent_scope_id: scope_id,
  primary_auth_method_id: (body as ScopeBody).primary_auth_method_id,
});

/** @throws Failure `not_found` */
export function requireScope(app: App, scope_id: string): Soon<Scope> {
  return whenThere(readScopeTree(app), ({ byId }) => {
    const scope = byId.get(scope_id);
    if (!scope) throw new Failure('not_found', 'Resource not found.');
    return scope;
  });
}
