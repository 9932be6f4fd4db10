import { type Acl, NOTHING_GRANTED } from '../../acl/acl.ts';
import { listCapabilities } from '../../acl/grants.ts';
import type { FormedSegment } from '../../acl/name-form.ts';
import { RuleWalk } from '../../acl/rule-walk.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { requireByAccessor } from '../auth/token/operations.ts';
import { findLiving } from '../permissions/authentication.operations.ts';
import { readPermissions } from '../permissions/operations.ts';
import { whileConnected } from '../presence.ts';
import { tokenId } from '../tokens/minting.operations.ts';
import { noteToken } from '../tokens/recorded.ts';
import type { Token } from '../tokens/token.ts';

/** Which segments of a path are names of more than one spelling; endpoints say so, at start. */
export const namesOfPaths = perApp(() => ({
  find: async (_path: string): Promise<readonly FormedSegment[]> => [],
}));

/** What the caller may do at each path. */
export async function describeOwn(
  app: App,
  caller: Caller,
  input: { paths: readonly string[] },
): Promise<DataResult<Record<string, string[]>>> {
  if (!caller.acl) throw new Failure('unauthenticated', 'permission denied');
  return describe(app, caller, caller.acl, input.paths);
}

export async function describeOfToken(
  app: App,
  caller: Caller,
  input: { token: string; paths: readonly string[] },
): Promise<DataResult<Record<string, string[]>>> {
  if (input.token === '') return describeOwn(app, caller, input);
  const token = await findLiving(app, input.token);
  noteToken(caller, token ?? { id: tokenId(app, input.token) });
  if (!token) throw invalid('invalid token');
  return describeAll(app, caller, token, input.paths);
}

export async function describeOfAccessor(
  app: App,
  caller: Caller,
  input: { accessor: string; paths: readonly string[] },
): Promise<DataResult<Record<string, string[]>>> {
  const token = await requireByAccessor(app, input.accessor);
  return describeAll(app, caller, token, input.paths);
}

async function describeAll(
  app: App,
  caller: Caller,
  token: Token,
  paths: readonly string[],
): Promise<DataResult<Record<string, string[]>>> {
  const permissions = await readPermissions(app, token);
  // Its entity is disabled or gone: it may do nothing at all.
  return describe(app, caller, permissions?.acl ?? NOTHING_GRANTED, paths);
}

/** Clients ask about what one page shows, which is some dozens. */
const MOST_PATHS = 256;

async function describe(
  app: App,
  caller: Caller,
  acl: Acl,
  paths: readonly string[],
): Promise<DataResult<Record<string, string[]>>> {
  if (paths.length === 0) throw invalid('paths must be supplied');
  if (paths.length > MOST_PATHS) {
    throw invalid(`paths: at most ${MOST_PATHS}, this request has ${paths.length}`);
  }
  const found = await whileConnected(caller, (requireConnected) =>
    walkPaths(app, acl, paths, new RuleWalk(requireConnected)),
  );
  // One path is also answered under a name that does not depend on it.
  const [first, ...more] = found;
  const one = first && more.length === 0 ? { capabilities: first[1] } : {};
  return { data: { ...Object.fromEntries(found), ...one } };
}

async function walkPaths(
  app: App,
  acl: Acl,
  paths: readonly string[],
  walk: RuleWalk,
): Promise<[path: string, capabilities: string[]][]> {
  const names = namesOfPaths(app);
  const breath = new Breath();
  const found: [path: string, capabilities: string[]][] = [];
  for (const path of paths) {
    await breath.take();
    const formed = acl.root ? [] : await names.find(path.replace(/^\//, ''));
    found.push([path, await listCapabilities(acl, path, walk, formed)]);
    if (walk.isSpent) throw tooLong(found.length - 1);
  }
  return found;
}

function tooLong(judged: number): Failure {
  return invalid(
    `paths: judging more than ${judged} by the token's policies takes too long: ask about fewer`,
  );
}
