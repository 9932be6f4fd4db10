import { memoizeWeak } from '../../../core/memoize-weak.ts';
import { doAll, type Steps } from '../../../core/steps.ts';
import { RESOURCE_TYPES, type ResourceTypeName } from '../types.ts';
import type { Bundle } from './reach.ts';
import { concerns, type PrincipalKind, SortedGrants, typeOfFirst } from './sorted.ts';

/** What was filed of a bundle, for all who have it: only people without a log-in share none with others. */
const filedOf = memoizeWeak((_: Bundle) => new Map<ResourceTypeName, SortedGrants>());

/** The grants of a bundle that say something of a type, as they are asked. */
export function sortBundle(
  asker: PrincipalKind,
  bundle: Bundle,
  type: ResourceTypeName,
): SortedGrants {
  return filedOf(bundle).get(type) ?? doAll(fileBundle(asker, bundle, type));
}

function* fileBundle(
  asker: PrincipalKind,
  bundle: Bundle,
  type: ResourceTypeName,
): Steps<SortedGrants> {
  const sorted = yield* SortedGrants.make(asker, type, bundle);
  filedOf(bundle).set(type, sorted);
  return sorted;
}

/** Files a bundle that names many single things for all types that they are of. */
export function* fileNamed(asker: PrincipalKind, bundle: Bundle): Steps<void> {
  for (const type of yield* listNamed(bundle)) yield* fileBundle(asker, bundle, type);
}

/** Types of which a bundle names single things, or what they lie in; none where those are few in all. */
function* listNamed(bundle: Bundle): Steps<ResourceTypeName[]> {
  const named = new Set<ResourceTypeName>();
  let ids = 0;
  for (const grants of bundle) {
    for (const grant of grants) {
      yield;
      if (typeOfFirst(grant) === undefined) continue;
      ids += grant.ids.length;
      for (const type of TYPES) if (concerns(grant, type)) named.add(type);
    }
  }
  return ids < MANY_IDS ? [] : [...named];
}

/** Fewer are filed when somebody asks. */
const MANY_IDS = 256;

const TYPES = Object.keys(RESOURCE_TYPES) as ResourceTypeName[];
