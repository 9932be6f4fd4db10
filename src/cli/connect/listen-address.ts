import { invalid } from '../../core/failure.ts';

/** Nobody on other machines gets there. */
const LOOPBACK = '127.0.0.1';

/**
 * Reads where to listen: `HOST:PORT`, `[::1]:PORT`, `:PORT` or `PORT`.
 *
 * @throws Failure `invalid`
 */
export function parseListenAddress(text: string): { host: string; port: number } {
  const [, bracketed, name, digits] =
    /^(?:(?:\[([^\]]+)\]|([^:[\]]*)):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits ?? Number.NaN);
  if (!(port <= 65_535)) {
    throw invalid(`flag -listen must be HOST:PORT, e.g. "${LOOPBACK}:5432", not "${text}"`);
  }
  return { host: bracketed ?? (name || LOOPBACK), port };
}

/** Whether others than this machine can get there. */
export const isOpen = (host: string): boolean => !/^(127\.|::1$|localhost$)/.test(host);
