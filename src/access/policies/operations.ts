import type { App } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import { foldName } from '../../core/fold.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import type { Answer } from '../../http/route.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import { type Acl, compileAcl } from '../acl.ts';
import type { Caller } from '../caller.ts';
import { DEFAULT_POLICY } from '../default-policies.ts';
import {
  decodePolicyText,
  expandPolicy,
  type Policy,
  parsePolicy,
  ROOT_POLICY,
} from '../policy.ts';
import {
  deletePolicy,
  findPolicy,
  listPoliciesNamed,
  listPolicyNames,
  type StoredPolicy,
  savePolicy,
} from './store.ts';

/** Policies that are there although nobody wrote them. */
const BUILT_IN = ['default', 'root'];

/**
 * The compiled permissions of a token with these policies. A name without a policy grants
 * nothing.
 *
 * @param names sorted, so that equal sets share one compilation
 */
export async function readAcl(
  app: App,
  names: readonly string[],
  identity: IdentityFacts | undefined,
): Promise<Acl> {
  const key = JSON.stringify(names);
  const now = Math.floor(app.now() / 1000);
  const compile = async (): Promise<Acl> => {
    const policies = await app.cached(`policies:${key}`, () => loadPolicies(app, names));
    return compileAcl(
      policies.map((policy) => expandPolicy(policy, identity)),
      now,
    );
  };
  // Templates in paths make the permissions of every entity its own.
  if (identity) return compile();
  const acl = await app.cached(`acl:${key}`, compile);
  return now < acl.valid_until ? acl : compile();
}

async function loadPolicies(app: App, names: readonly string[]): Promise<Policy[]> {
  // Whatever a row may say: `root` is not a text.
  if (names.includes('root')) return [ROOT_POLICY];
  const stored = await listPoliciesNamed(app.db, names);
  const policies = stored.map((policy) => parsePolicy(policy.body));
  const isWritten = stored.some((policy) => policy.name === 'default');
  if (names.includes('default') && !isWritten) policies.push(parsePolicy(DEFAULT_POLICY));
  return policies;
}

/** Those of the names that no policy goes by. */
export async function listUnknownPolicies(app: App, names: readonly string[]): Promise<string[]> {
  const known = new Set([...BUILT_IN, ...(await listPolicyNames(app.db))]);
  return names.filter((name) => !known.has(name));
}

export async function listPolicies(app: App): Promise<string[]> {
  return [...new Set([...BUILT_IN, ...(await listPolicyNames(app.db))])].sort();
}

/** @throws Failure `not_found` */
async function requirePolicy(app: App, name: string): Promise<StoredPolicy> {
  const stored = await findPolicy(app.db, foldName(name));
  if (stored) return stored;
  const built_in = { version: 1, modified_at: 0 };
  if (name === 'default') return { name, body: DEFAULT_POLICY, ...built_in };
  if (name === 'root') return { name, body: '', ...built_in };
  throw new Failure('not_found', '');
}

/** @param key what the text is called: `policy`, or `rules` as of old */
export async function readPolicy(
  app: App,
  input: { name: string },
  key: 'policy' | 'rules',
): Promise<Answer> {
  const policy = await requirePolicy(app, input.name);
  return {
    data: {
      name: policy.name,
      [key]: policy.body,
      version: policy.version,
      modified: new Date(policy.modified_at * 1000).toISOString(),
      cas_required: false,
    },
    flat: key === 'rules',
  };
}

export async function writePolicy(
  app: App,
  caller: Caller,
  input: { name: string; text: string },
): Promise<Answer> {
  const name = foldName(input.name);
  if (name === 'root') throw new Failure('invalid', 'cannot update "root" policy');
  const body = decodePolicyText(input.text);
  if (body.trim() === '') {
    throw new Failure('invalid', "'policy' parameter not supplied or empty");
  }
  // Parsed for its refusals: what is stored can be read again.
  parsePolicy(body);
  const modified_at = Math.floor(app.now() / 1000);
  await app.commit(caller, [savePolicy({ name, body, modified_at }), ...bumpPermissionVersion()]);
  return name === input.name ? {} : { warnings: [`policy name was converted to "${name}"`] };
}

export async function removePolicy(
  app: App,
  caller: Caller,
  input: { name: string },
): Promise<Answer> {
  const name = foldName(input.name);
  if (BUILT_IN.includes(name)) {
    throw new Failure('invalid', `cannot delete "${name}" policy`);
  }
  await app.commit(caller, [deletePolicy(name), ...bumpPermissionVersion()]);
  return {};
}
