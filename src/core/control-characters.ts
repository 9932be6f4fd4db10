/**
 * Characters that no text of a request means: they end texts early in other programs, and change
 * what a terminal shows. Blanks, tabs and ends of lines are none of them.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
export const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;

/** Whether a text, an item of a list, or a name or value of a map has one. */
export function hasControl(value: unknown): boolean {
  if (typeof value === 'string') return CONTROL.test(value);
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  if (Array.isArray(value)) return value.some(hasControl);
  return Object.entries(value).some(([name, item]) => CONTROL.test(name) || hasControl(item));
}
