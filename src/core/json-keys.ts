/**
 * Says whether an object in a text of JSON has a key twice. Of the two the last one counts here, and
 * to another reader the first: whoever looks at such a text may see something else than what is done.
 *
 * @param text was parsed without a fault
 * @param value what came of it
 */
export function hasKeyTwice(text: string, value: unknown): boolean {
  return countColons(text) !== countKeys(value);
}

/** Of members: those within strings do not count. */
function countColons(text: string): number {
  let colons = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (isInString && letter === '\\') at++;
    else if (letter === '"') isInString = !isInString;
    else if (letter === ':' && !isInString) colons++;
  }
  return colons;
}

function countKeys(value: unknown): number {
  let keys = 0;
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (!Array.isArray(next)) keys += Object.keys(next).length;
    for (const each of Object.values(next)) open.push(each);
  }
  return keys;
}
