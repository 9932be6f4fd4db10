import { readFileSync } from 'node:fs';
import { invalid } from '../core/failure.ts';

/** Says where a secret is, since in the arguments everybody on this machine would see it. */
export const REFERENCE = 'env://NAME or file://PATH';

/** A longer file holds something else. */
const LONGEST = 1 << 20;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads what a flag refers to, without the end of its line.
 *
 * @param text `env://NAME` or `file://PATH`
 * @throws Failure `invalid`; what was given is not repeated, since it may be the secret itself
 */
export function readReference(flag: string, text: string, env: Environment): string {
  const [, kind, rest = ''] = /^(env|file):\/\/(.+)$/s.exec(text) ?? [];
  if (kind === undefined) {
    throw invalid(
      `flag -${flag} takes where it is, ${REFERENCE}, and not the secret itself: the list of processes would show it`,
    );
  }
  const secret = (kind === 'env' ? env[rest] : readFile(flag, rest))?.replace(/\r?\n$/, '');
  if (!secret) {
    const place = kind === 'env' ? `the variable "${rest}"` : `the file "${rest}"`;
    throw invalid(`${place} of flag -${flag} is empty${kind === 'env' ? ' or not set' : ''}`);
  }
  return secret;
}

function readFile(flag: string, path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw invalid(`the file of flag -${flag}, "${path}", cannot be read`, { cause });
  }
  if (text.length > LONGEST) throw invalid(`the file of flag -${flag}, "${path}", is too long`);
  return text;
}
