import type { App } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import type { Answer } from '../../http/route.ts';
import { type Acl, listCapabilities } from '../acl.ts';
import type { Caller } from '../caller.ts';
import { readAcl } from '../policies/operations.ts';
import { findLiving, requireByAccessor } from '../tokens/operations.ts';

/** What the caller may do at each path. */
export async function describeOwn(
  _app: App,
  caller: Caller,
  input: { paths: readonly string[] },
): Promise<Answer> {
  if (!caller.acl) throw new Failure('unauthenticated', 'permission denied');
  return describe(caller.acl, input.paths);
}

export async function describeOfToken(
  app: App,
  caller: Caller,
  input: { token: string; paths: readonly string[] },
): Promise<Answer> {
  if (input.token === '') return describeOwn(app, caller, input);
  const token = await findLiving(app, input.token);
  if (!token) throw new Failure('invalid', 'invalid token');
  return describe(await readAcl(app, token.policies, undefined), input.paths);
}

export async function describeOfAccessor(
  app: App,
  _caller: Caller,
  input: { accessor: string; paths: readonly string[] },
): Promise<Answer> {
  const token = await requireByAccessor(app, input.accessor);
  return describe(await readAcl(app, token.policies, undefined), input.paths);
}

function describe(acl: Acl, paths: readonly string[]): Answer {
  const [only] = paths;
  if (only === undefined) throw new Failure('invalid', 'paths must be supplied');
  const found = paths.map((path) => [path, listCapabilities(acl, path)] as const);
  // One path is also answered under a name that does not depend on it.
  const one = paths.length === 1 ? { capabilities: listCapabilities(acl, only) } : {};
  return { data: { ...Object.fromEntries(found), ...one }, flat: true };
}
