/** Removed issuers that are remembered: a thousand are imported at once. */
const MOST = 1000;

/** What a removed issuer was to the world, see `crl/issuer-class.ts`. */
interface Removed {
  id: string;
  class: string;
}

/**
 * Chooses which removed issuers go on being remembered, by class. What those revoked whose subject and key an issuer of the
 * mount still has is on its CRL as long as they are: of the others the first are forgotten first.
 *
 * @param present classes of the issuers that are there
 */
export function keepFormer(
  former: ReadonlyMap<string, string>,
  removed: Iterable<Removed>,
  present: ReadonlySet<string>,
  most = MOST,
): Map<string, string> {
  const all = new Map(former);
  for (const { id, class: issuerClass } of removed) all.set(id, issuerClass);
  const isPresent = ([, issuerClass]: [string, string]): boolean => present.has(issuerClass);
  let spare = all.size - most;
  for (const isSpared of [isPresent, () => false]) {
    for (const one of [...all]) {
      if (spare <= 0) return all;
      if (isSpared(one)) continue;
      all.delete(one[0]);
      spare -= 1;
    }
  }
  return all;
}
