import { doubtPattern } from '../../acl/path-pattern.ts';
import type { Policy } from '../../acl/policy.ts';
import { requireModestPolicy, requireModestText } from '../../acl/policy-limits.ts';
import { parsePolicy } from '../../acl/policy-reader.ts';
import { decodePolicyText } from '../../acl/policy-text.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { NothingResult } from '../../app/output.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { foldName } from '../../core/fold.ts';
import type { KeyPage } from '../../core/key-list.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import { DEFAULT_POLICY } from './default-policies.ts';
import {
  deletePolicy,
  findPolicy,
  listKnownNames,
  listPolicyNames,
  type StoredPolicy,
  savePolicy,
} from './store.ts';

/** Policies that are there although nobody wrote them. */
const BUILT_IN = ['default', 'root'];

/** Those of the names that no policy goes by. */
export async function listUnknownPolicies(app: App, names: readonly string[]): Promise<string[]> {
  const known = new Set([...BUILT_IN, ...(await listKnownNames(app.db, names))]);
  return names.filter((name) => !known.has(name));
}

/** A page of names, in byte order; those of policies that nobody wrote are among them. */
export async function listPolicies(app: App, page: KeyPage): Promise<string[]> {
  const names = await listPolicyNames(app.db, page);
  for (const name of BUILT_IN) {
    if (name <= page.after || names.includes(name)) continue;
    const next = names.findIndex((other) => other > name);
    names.splice(next < 0 ? names.length : next, 0, name);
  }
  return names.slice(0, page.limit);
}

/** @throws Failure `not_found` */
export async function readPolicy(app: App, { name }: { name: string }): Promise<StoredPolicy> {
  const stored = await findPolicy(app.db, foldName(name));
  if (stored) return stored;
  const builtIn = { version: 1, modified_at: 0 };
  if (name === 'default') return { name, body: DEFAULT_POLICY, ...builtIn };
  if (name === 'root') return { name, body: '', ...builtIn };
  throw new Failure('not_found', '');
}

export async function writePolicy(
  app: App,
  caller: Caller,
  input: { name: string; text: string },
): Promise<NothingResult> {
  const name = foldName(input.name);
  if (name === 'root') throw invalid('cannot update "root" policy');
  // Names of a token's policies are read without them: no token could have this one.
  if (name !== name.trim()) throw invalid('policy name: no blanks at its beginning or end');
  const body = decodePolicyText(input.text);
  if (body.trim() === '') throw invalid("'policy' parameter not supplied or empty");
  requireModestText(body);
  // Parsed for its refusals: what is stored can be read again.
  const policy = parsePolicy(body);
  requireModestPolicy(policy);
  const modified_at = Math.floor(app.now() / 1000);
  await app.commit(caller, [savePolicy({ name, body, modified_at }), ...bumpPermissionVersion()]);
  const warnings = name === input.name ? [] : [`policy name was converted to "${name}"`];
  warnings.push(...listDoubts(policy));
  return warnings.length === 0 ? {} : { warnings };
}

/** Stanzas are told of by themselves up to this many. */
const MOST_DOUBTS = 20;

function listDoubts({ rules }: Policy): string[] {
  const doubts: string[] = [];
  for (const { pattern } of rules) {
    const because = doubtPattern(pattern);
    if (because === undefined) continue;
    doubts.push(`path "${pattern.text.slice(0, 256)}" may match nothing: ${because}`);
    if (doubts.length === MOST_DOUBTS) break;
  }
  return doubts;
}

export async function removePolicy(
  app: App,
  caller: Caller,
  input: { name: string },
): Promise<NothingResult> {
  const name = foldName(input.name);
  if (BUILT_IN.includes(name)) throw invalid(`cannot delete "${name}" policy`);
  await app.commit(caller, [deletePolicy(name), ...bumpPermissionVersion()]);
  return {};
}
