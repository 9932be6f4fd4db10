import { type Failure, invalid } from '../../core/failure.ts';
import { MAX_NAMES } from '../../x509/general-names.ts';

/**
 * The names of a text with commas between them.
 *
 * @throws Failure `invalid` for more than can be written, or one too long to be looked at
 * @see P-30
 */
export function splitNames(alt_names: string): string[] {
  const items = alt_names.split(',', MAX_NAMES + 1);
  if (items.length > MAX_NAMES) throw refuseCount(`more than ${MAX_NAMES}`);
  for (const item of items) {
    if (item.length > MAX_NAME_LENGTH) {
      throw invalid(`alt_names: ${quote(item)} is too long`, {
        fields: { alt_names: `names of at most ${MAX_NAME_LENGTH} characters` },
      });
    }
  }
  return items.map((name) => name.trim()).filter((name) => name !== '');
}

/** Longer than any mailbox or host name is written. */
const MAX_NAME_LENGTH = 1024;

export function refuseCount(count: string): Failure {
  return invalid(`${count} subject alternative names, at most ${MAX_NAMES} are accepted`, {
    fields: { alt_names: `at most ${MAX_NAMES} names` },
  });
}

export function quote(name: string): string {
  return JSON.stringify(name.slice(0, 256));
}
