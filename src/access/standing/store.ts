import type { Footing } from '../../app/standing.ts';
import { preparedHold } from '../../store/held.ts';
import type { Write } from '../../store/write.ts';
import { isNotEnded } from '../tokens/ended.ts';
import { holdLine } from '../tokens/line.store.ts';

// One statement for each combination, since this is in the write set of every request. A token
// is held against its revocation alone: its uses are counted down at the same time.
//
// The version comes first everywhere, the way whoever changes what is permitted takes it before what
// is removed: two who want the same rows then never wait for each other.

const ONE = { rows: 1 };

/** The accessor tells it from another that is made with the same chosen id meanwhile. */
type OwnToken = { token_id: string; accessor: string };

const byToken = preparedHold<OwnToken>(
  (from, p) =>
    from
      .selectFrom('token')
      .select('token.id')
      .where('token.id', '=', p.token_id)
      .where('token.accessor', '=', p.accessor)
      .where(isNotEnded)
      .forKeyShare(),
  ONE,
);

const byMount = preparedHold<{ mount_id: string; path: string }>(
  (from, p) =>
    from
      .selectFrom('mount')
      .select('mount.id')
      .where('mount.id', '=', p.mount_id)
      .where('mount.path', '=', p.path)
      .forShare(),
  ONE,
);

/** Refuses its write set once somebody may be permitted less. */
export const byVersion = preparedHold<{ version: number }>(
  (from, p) =>
    from
      .selectFrom('permission_version')
      .select('permission_version.id')
      .where('permission_version.version', '=', p.version)
      .forShare(),
  ONE,
);

const byTokenAndMount = preparedHold<OwnToken & { mount_id: string; path: string }>(
  (from, p) =>
    from
      .selectFrom(['token', 'mount'])
      .select('token.id')
      .where('token.id', '=', p.token_id)
      .where('token.accessor', '=', p.accessor)
      .where(isNotEnded)
      .where('mount.id', '=', p.mount_id)
      .where('mount.path', '=', p.path)
      .forKeyShare('token')
      .forShare('mount'),
  ONE,
);

const byTokenAndVersion = preparedHold<OwnToken & { version: number }>(
  (from, p) =>
    from
      .selectFrom(['token', 'permission_version'])
      .select('token.id')
      .where('token.id', '=', p.token_id)
      .where('token.accessor', '=', p.accessor)
      .where(isNotEnded)
      .where('permission_version.version', '=', p.version)
      .forShare('permission_version')
      .forKeyShare('token'),
  ONE,
);

const byAll = preparedHold<
  OwnToken & {
    mount_id: string;
    path: string;
    version: number;
  }
>(
  (from, p) =>
    from
      .selectFrom(['token', 'mount', 'permission_version'])
      .select('token.id')
      .where('token.id', '=', p.token_id)
      .where('token.accessor', '=', p.accessor)
      .where(isNotEnded)
      .where('mount.id', '=', p.mount_id)
      .where('mount.path', '=', p.path)
      .where('permission_version.version', '=', p.version)
      .forShare('permission_version')
      .forKeyShare('token')
      .forShare('mount'),
  ONE,
);

/** Refuses its write set unless everything that a caller stands on is there as it was. */
export function holdFooting({ token, has_line, mount, version }: Footing): Write[] {
  if (token === undefined || has_line) {
    return [
      ...(version === undefined ? [] : [byVersion({ version })]),
      ...(token === undefined ? [] : [holdLine(token)]),
      ...(mount ? [byMount({ mount_id: mount.id, path: mount.path })] : []),
    ];
  }
  const own = { token_id: token.id, accessor: token.accessor };
  if (mount && version !== undefined) {
    return [byAll({ ...own, mount_id: mount.id, path: mount.path, version })];
  }
  if (mount) return [byTokenAndMount({ ...own, mount_id: mount.id, path: mount.path })];
  return [version === undefined ? byToken(own) : byTokenAndVersion({ ...own, version })];
}

/**
 * As {@link holdFooting}, for a write set that changes the version: it locks the version's row for update at once, so
 * that two of them do not deadlock. Requests that rest on permissions have written by then or will be refused: the
 * set finds all that it has to end.
 */
export function takeFooting(footing: Footing): Write[] {
  const { version } = footing;
  const others = holdFooting({ ...footing, version: undefined });
  return [version === undefined ? takeAnyVersion({}) : takeVersion({ version }), ...others];
}

/** Of a caller whose permission does not depend on it. */
const takeAnyVersion = preparedHold<Record<never, never>>(
  (from) => from.selectFrom('permission_version').select('permission_version.id').forUpdate(),
  ONE,
);

const takeVersion = preparedHold<{ version: number }>(
  (from, p) =>
    from
      .selectFrom('permission_version')
      .select('permission_version.id')
      .where('permission_version.version', '=', p.version)
      .forUpdate(),
  ONE,
);
