/** Directory names among subtrees of such: a name is within one whose parts it begins with (RFC 5280 §4.2.1.10). */

import { type Name, nameText, parseName } from './names.ts';
import type { Found } from './subtree-lookups.ts';

/** Parts of subtrees, each beneath those before it. */
interface Branch {
  /** The subtree that ends here, as it is shown. */
  subtree?: string;
  beneath: Map<string, Branch>;
}

type Fold = (text: string) => string;

/** As every verifier that folds at all takes letters and blanks. */
const foldAscii: Fold = (text) =>
  text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()).replaceAll(/ +/g, ' ');

/**
 * As the most lenient one could (RFC 4518): what it would take for the same. Of marks in a row no more are
 * looked at than are put into order at once.
 */
const foldAll: Fold = (text) =>
  text
    .replaceAll(/(\p{M}{30})\p{M}+/gu, '$1')
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKC')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replaceAll(/\s+/g, ' ');

/** The attributes of a part are a set: their order says nothing. */
const keysOf = (name: Name, fold: Fold): string[] =>
  name.attributes.map((parts) =>
    parts
      .map(({ oid, value }) => `${oid}=${fold(value).trim()}`)
      .sort()
      .join('\0'),
  );

function plant(names: readonly Name[], fold: Fold): Branch {
  const root: Branch = { beneath: new Map() };
  for (const name of names) {
    let branch = root;
    for (const key of keysOf(name, fold)) {
      branch = branch.beneath.getOrInsertComputed(key, () => ({ beneath: new Map() }));
    }
    branch.subtree ??= nameText(name);
  }
  return root;
}

function findAlong(root: Branch, keys: readonly string[]): string | undefined {
  let branch: Branch | undefined = root;
  for (const key of keys) {
    if (branch?.subtree !== undefined) return branch.subtree;
    branch = branch?.beneath.get(key);
  }
  return branch?.subtree;
}

/**
 * Looks names up, in DER, among subtrees, in DER. Of one that only some verifiers would find within
 * nobody can say.
 */
export function indexDirectoryNames(subtrees: readonly Uint8Array[]): (name: Name) => Found {
  const names = subtrees.map(parseName);
  const agreed = plant(names, foldAscii);
  const lenient = plant(names, foldAll);
  return (name) => {
    const within = findAlong(agreed, keysOf(name, foldAscii));
    if (within !== undefined) return { match: 'yes', subtree: within };
    const perhaps = findAlong(lenient, keysOf(name, foldAll));
    return perhaps === undefined
      ? { match: 'no', subtree: '' }
      : { match: 'unclear', subtree: perhaps };
  };
}
