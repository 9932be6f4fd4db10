import { type Acl, compileAcl } from '../../acl/acl.ts';
import { expandPolicy, type PathRule, type Policy, ROOT_POLICY } from '../../acl/policy.ts';
import { judgeTokenRules, judgeTokenTexts } from '../../acl/policy-limits.ts';
import { parsePolicy } from '../../acl/policy-reader.ts';
import { weighStanzas } from '../../acl/policy-weight.ts';
import { type App, perApp } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { nextBreath } from '../../core/fairness/breath.ts';
import { FewBySize, type FewInTurn } from '../../core/fairness/few-in-turn.ts';
import { type IdentityFacts, isLookedUp } from '../../core/identity-template.ts';
import { atMostOf, Kept, LastOf, textBytes } from '../../core/kept.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { ROOMS } from '../../core/rooms.ts';
import { doInTurns, type Soon, whenThere } from '../../core/steps.ts';
import { tellFacts } from '../identity/facts.operations.ts';
import { DEFAULT_POLICY } from '../policies/default-policies.ts';
import { listPoliciesNamed, measurePolicies } from '../policies/store.ts';

/**
 * The compiled permissions of a token with these policies. A name without a policy grants
 * nothing.
 *
 * @param names sorted, so that equal sets share one compilation
 * @throws Failure `forbidden` when they are more than one token may have
 */
export function readAcl(
  app: App,
  names: readonly string[],
  identity: IdentityFacts | undefined,
): Soon<Acl> {
  const key = JSON.stringify(names);
  // Templates in paths make the permissions of every entity its own.
  if (identity) return compile(app, names, key, identity);
  const compileAnew = () => compile(app, names, key, undefined);
  return whenThere(
    app.cached('policies:acls', async () => keptAcls(), ['policies']),
    (known) =>
      whenThere(known.find(key) ?? known.get(key, compileAnew), (acl) =>
        nowSeconds(app) < acl.valid_until ? acl : compileAnew(),
      ),
  );
}

/** As many stanzas as a token may have take some 4 to 12 MiB. */
const LARGEST_PART = 9 / 10;

const keptAcls = (): Kept<Acl> =>
  new Kept(ROOMS.compiled, ({ bytes }) => atMostOf(ROOMS.compiled, bytes), LARGEST_PART);

/** What was compiled before configuration last changed, with what it was made of. */
interface Compiled {
  policies: readonly Policy[];
  acl: Acl;
}

const compiledBefore = perApp(
  () => new LastOf<Compiled>(ROOMS.compiled_before, weighCompiled, LARGEST_PART),
);

/** Stanzas are merged, but those that are filled in for somebody are theirs alone, each of them. */
function weighCompiled({ policies, acl }: Compiled): number {
  const bytes = policies.reduce((sum, policy) => sum + weighStanzas(policy.rules), acl.bytes);
  return atMostOf(ROOMS.compiled_before, bytes);
}

/** Sets of policies that are read or compiled at the same time: the largest take some megabytes meanwhile. */
const places = new FewBySize();
/** More paths, or a longer text, than that make a set a large one. */
const LARGE = { rules: 1000, text: 65_536 } as const;

async function compile(
  app: App,
  names: readonly string[],
  key: string,
  identity: IdentityFacts | undefined,
): Promise<Acl> {
  const make = async (): Promise<Acl> =>
    compileLoaded(app, await readPolicies(app, names, key), key, identity);
  const size = await measureSet(app, names, key);
  return size ? placesFor(size).run(make) : make();
}

/** Rules of a set as far as they are known, and characters. */
interface SetSize {
  rules: number;
  text: number;
}

/**
 * How large a set is that takes a place. Nothing of it is held while that is waited for: the texts are read,
 * and what is made of them is found or made, in the place.
 *
 * @returns undefined for one that waits for nobody
 */
async function measureSet(
  app: App,
  names: readonly string[],
  key: string,
): Promise<SetSize | undefined> {
  const listed = (await listsOf(app)).find(key);
  const known = listed && policiesOf(listed);
  if (known) {
    const rules = known.reduce((sum, policy) => sum + policy.rules.length, 0);
    if (rules <= MANY_RULES) return undefined;
    return { rules, text: known.reduce((sum, policy) => sum + countCharacters(policy), 0) };
  }
  if ((listed && 'excess' in listed) || names.includes('root')) return undefined;
  const text = await measurePolicies(app.db, names);
  return text <= LONG_TEXT || judgeTokenTexts(text) !== undefined ? undefined : { rules: 0, text };
}

const placesFor = ({ rules, text }: SetSize): FewInTurn =>
  places.of(rules > LARGE.rules || text > LARGE.text);

const countCharacters = ({ rules }: Policy): number =>
  rules.reduce((sum, { pattern }) => sum + pattern.form.length, 0);

async function compileLoaded(
  app: App,
  loaded: readonly Policy[],
  key: string,
  identity: IdentityFacts | undefined,
): Promise<Acl> {
  const policies: Policy[] = [];
  const told = identity && (await tellFacts(app, identity, loaded.flatMap(listLookedUp)));
  for (const policy of loaded) {
    if (policy.rules.length > MANY_RULES) await nextBreath();
    policies.push(expandPolicy(policy, told));
  }
  const kept = compiledBefore(app);
  const place = `${identity?.entity.id ?? ''} ${key}`;
  const before = kept.find(place);
  const now = nowSeconds(app);
  // Most changes of configuration are about other policies and other people.
  if (before && now < before.acl.valid_until && isSame(before.policies, policies)) {
    return before.acl;
  }
  const acl = await doInTurns(compileAcl(policies, now));
  kept.set(place, { policies, acl });
  return acl;
}

/** What its templates name of groups and of what is said of aliases. */
const listLookedUp = memoizeWeak(({ rules }: Policy) =>
  rules.flatMap(({ pattern }) => pattern.selectors.filter(isLookedUp)),
);

/** Looking through more takes a millisecond or longer, so that others come first. */
const MANY_RULES = 200;

/** Whether two lists of policies are the same stanzas for the same person. */
function isSame(before: readonly Policy[], after: readonly Policy[]): boolean {
  return (
    before.length === after.length &&
    before.every((policy, place) => {
      const other = after[place];
      if (policy === other) return true;
      if (!other || policy.root !== other.root) return false;
      return (
        policy.rules.length === other.rules.length &&
        policy.rules.every((rule, at) => isSameRule(rule, other.rules[at]))
      );
    })
  );
}

/** What a stanza grants is a list of its own, which its expansion for somebody shares. */
function isSameRule(rule: PathRule, other: PathRule | undefined): boolean {
  return (
    rule === other ||
    (rule.capabilities === other?.capabilities && rule.pattern.form === other.pattern.form)
  );
}

/** What a list of names comes to. Policies are kept by {@link parsedBefore}, or are read again. */
type Listed = { policies: readonly WeakRef<Policy>[] } | { excess: string };

const weighListed = (listed: Listed): number =>
  'policies' in listed ? listed.policies.length * REFERENCE_BYTES : 0;

const REFERENCE_BYTES = 64;

const listsOf = (app: App): Soon<LastOf<Listed>> =>
  app.cached(
    'policies:lists',
    async () => new LastOf<Listed>(ROOMS.policy_lists, weighListed, LARGEST_PART),
    ['policies'],
  );

/** Those of a list that are all still there. */
function policiesOf(listed: Listed): readonly Policy[] | undefined {
  if ('excess' in listed) return undefined;
  const known = listed.policies.flatMap((reference) => reference.deref() ?? []);
  return known.length === listed.policies.length ? known : undefined;
}

async function readPolicies(
  app: App,
  names: readonly string[],
  key: string,
): Promise<readonly Policy[]> {
  const lists = await listsOf(app);
  const listed = lists.find(key);
  if (listed && 'excess' in listed) throw new Failure('forbidden', listed.excess);
  const known = listed && policiesOf(listed);
  if (known) return known;
  const loaded = await loadPolicies(app, names);
  const isExcess = 'excess' in loaded;
  lists.set(key, isExcess ? loaded : { policies: loaded.policies.map((one) => new WeakRef(one)) });
  if (isExcess) throw new Failure('forbidden', loaded.excess);
  return loaded.policies;
}

type Loaded = { policies: Policy[] } | { excess: string };

async function loadPolicies(app: App, names: readonly string[]): Promise<Loaded> {
  // Whatever a row may say: `root` is not a text.
  if (names.includes('root')) return { policies: [ROOT_POLICY] };
  const bytes = await measurePolicies(app.db, names);
  const tooLong = judgeTokenTexts(bytes);
  if (tooLong !== undefined) return { excess: tooLong };
  const policies = await parseNamed(app, names);
  const tooMany = judgeTokenRules(policies);
  return tooMany === undefined ? { policies } : { excess: tooMany };
}

async function parseNamed(app: App, names: readonly string[]): Promise<Policy[]> {
  const stored = await listPoliciesNamed(app.db, names);
  const policies: Policy[] = [];
  for (const { name, body } of stored) {
    if (body.length > LONG_TEXT) await nextBreath();
    policies.push(parseKept(app, name, body));
  }
  const isWritten = stored.some((policy) => policy.name === 'default');
  if (names.includes('default') && !isWritten) policies.push(parsePolicyOnce(DEFAULT_POLICY));
  return policies;
}

/** Reading a longer text takes a millisecond or longer. */
const LONG_TEXT = 8192;

/** Policies that are kept parsed, with their texts. */
const parsedBefore = perApp(() => new LastOf<Parsed>(ROOMS.policies, weighParsed));

interface Parsed {
  body: string;
  policy: Policy;
}

const weighParsed = ({ body, policy }: Parsed): number =>
  textBytes(body) + weighStanzas(policy.rules);

/** The same text under a name is the same policy: what is made of it need not be made again. */
function parseKept(app: App, name: string, body: string): Policy {
  const kept = parsedBefore(app);
  const before = kept.find(name);
  if (before?.body === body) return before.policy;
  const policy = parsePolicy(body);
  kept.set(name, { body, policy });
  return policy;
}

const builtIn = new Map<string, Policy>();

/** For texts of the server's own. */
function parsePolicyOnce(text: string): Policy {
  const policy = builtIn.get(text) ?? parsePolicy(text);
  builtIn.set(text, policy);
  return policy;
}

const nowSeconds = (app: App): number => Math.floor(app.now() / 1000);
