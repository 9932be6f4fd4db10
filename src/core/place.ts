/**
 * Whether a text that says where something is may also say as whom to come there, well-formed or not. A file's path
 * is as it is.
 */
export function mayHaveUser(text: string): boolean {
  if (/^\/(?!\/)/.test(text)) return false;
  // Its sign, as it stands, as it is escaped, and as it is written in full width and small.
  return /[@\uff20\ufe6b]|%40/i.test(text);
}
