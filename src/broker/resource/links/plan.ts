/** How a list of links is changed. */
export type LinkChange = 'add' | 'set' | 'remove';

/** What has to be done for the change, and what stands in its way. */
export interface PlannedLinks {
  added: readonly string[];
  removed: readonly string[];
  /** Named to be added, and linked already. */
  already: readonly string[];
  /** Named to be removed, and not linked. */
  absent: readonly string[];
}

/**
 * What is wrong with what a change names, of which the first is told.
 *
 * @param kind of what is named, where that is no id: a word and a blank
 */
export function faultOfPlan({ already, absent }: PlannedLinks, kind = ''): string | undefined {
  if (already[0] !== undefined) return `${kind}"${already[0]}" is there already.`;
  return absent[0] === undefined ? undefined : `${kind}"${absent[0]}" is not there.`;
}

/** Works out a change of links; what is named twice counts once. @see B-45, B-47 */
export function planLinks(
  change: LinkChange,
  present: readonly string[],
  named: readonly string[],
): PlannedLinks {
  const wanted = [...new Set(named)];
  const has = new Set(present);
  const wants = new Set(wanted);
  switch (change) {
    case 'add':
      return {
        added: wanted.filter((id) => !has.has(id)),
        removed: [],
        already: wanted.filter((id) => has.has(id)),
        absent: [],
      };
    case 'set':
      return {
        added: wanted.filter((id) => !has.has(id)),
        removed: present.filter((id) => !wants.has(id)),
        already: [],
        absent: [],
      };
    case 'remove':
      return {
        added: [],
        removed: wanted.filter((id) => has.has(id)),
        already: [],
        absent: wanted.filter((id) => !has.has(id)),
      };
  }
}
