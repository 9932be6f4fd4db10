/** What may end, as people are told. */
const WORDS = {
  sessions: 'sessions',
  log_ins: 'log-ins',
  entities: 'entities',
  resources: 'resources',
  links: 'links between resources',
  credentials: 'credentials of sessions',
  leases: 'leases',
  secret_ids: 'secret IDs',
};

/** How many of what kind have ended. */
export type EndedCounts = { [kind in keyof typeof WORDS]?: number };

const KINDS = Object.keys(WORDS) as (keyof typeof WORDS)[];

/** Counts some more. */
export function addEnded(all: EndedCounts, more: EndedCounts): void {
  for (const kind of KINDS) {
    const count = (all[kind] ?? 0) + (more[kind] ?? 0);
    if (count > 0) all[kind] = count;
  }
}

/** Says what a request has ended that comes to nothing; undefined when that is nothing. */
export function tellEnded(ended: EndedCounts): string | undefined {
  const told = KINDS.flatMap((kind) => (ended[kind] ? [`${ended[kind]} ${WORDS[kind]}`] : []));
  const last = told.pop();
  if (last === undefined) return undefined;
  const all = told.length === 0 ? last : `${told.join(', ')} and ${last}`;
  return `Before it was refused this request had ended ${all}; they stay ended, and the rest ends when it is made again.`;
}
