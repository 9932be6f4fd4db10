import { invalid } from '../../core/failure.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { PatternSet } from '../../core/pattern-set.ts';
import type { Extension } from '../../x509/extensions.ts';
import { isSid, MUST_STAPLE, securityIdentifier } from '../../x509/further-extensions.ts';
import { parseFreeExtension } from '../fields/free-extension.ts';
import type { Role } from '../roles/role.ts';

type ExtensionRules = Pick<Role, 'must_staple' | 'allowed_sids' | 'allowed_extensions'>;

/** Of one certificate. */
const MOST_EXTENSIONS = 16;
/** Comparisons of one text with a role's thousand patterns are far fewer. */
const COMPARISONS = 1_000_000;

const NONE: readonly Extension[] = [];

const sidsOf = memoizeWeak(({ allowed_sids }: ExtensionRules) => new PatternSet(allowed_sids));

/**
 * The extensions that the role has in every certificate, and those that it lets the request fill in.
 *
 * @throws Failure `invalid` for what the role does not let in
 * @see P-267
 */
export function planRoleExtensions(
  role: ExtensionRules,
  { sid, extensions }: { sid: string; extensions: readonly string[] },
): readonly Extension[] {
  if (!role.must_staple && sid === '' && extensions.length === 0) return NONE;
  const planned: Extension[] = role.must_staple ? [MUST_STAPLE] : [];
  if (sid !== '') planned.push(planSid(role, sid));
  if (extensions.length > MOST_EXTENSIONS) {
    throw refuse('extensions', `${extensions.length} extensions, at most ${MOST_EXTENSIONS}`);
  }
  const allowed = new Set(role.allowed_extensions);
  for (const written of extensions) {
    const read = parseFreeExtension(written);
    if ('because' in read) throw refuse('extensions', read.because);
    if (!allowed.has(read.oid)) {
      throw refuse('extensions', `extension ${read.oid} not allowed by this role`);
    }
    if (planned.some(({ oid }) => oid === read.oid)) {
      throw refuse('extensions', `extension ${read.oid} comes twice`);
    }
    planned.push(read);
  }
  return planned;
}

function planSid(role: ExtensionRules, sid: string): Extension {
  const shown = JSON.stringify(sid.slice(0, 200));
  if (!isSid(sid)) throw refuse('sid', `${shown} is no security identifier`);
  if (!sidsOf(role).has(sid, { left: COMPARISONS })) {
    throw refuse('sid', `sid ${shown} not allowed by this role`);
  }
  return securityIdentifier(sid);
}

const refuse = (field: 'sid' | 'extensions', because: string) =>
  invalid(because, { fields: { [field]: because } });
