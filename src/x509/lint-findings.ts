import { Failure } from '../core/failure.ts';

export type Report = (problem: string) => void;

/** A value that cannot be read is a finding too. */
export function attempt<T>(report: Report, what: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    report(`${what}: ${error.message}`);
    return undefined;
  }
}
