import { RE2JS } from 're2js';
import { SyntaxFault, shorten } from './tokens.ts';

/** A regular expression, with the number of its instructions. */
export interface Pattern {
  compiled: RE2JS;
  size: number;
}

export function compilePattern(text: string): Pattern {
  try {
    const compiled = RE2JS.compile(text);
    return { compiled, size: compiled.programSize() };
  } catch {
    throw new SyntaxFault(`the regular expression "${shorten(text)}" cannot be read`);
  }
}
