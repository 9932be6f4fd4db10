import { invalid } from '../../core/failure.ts';
import type { Arguments } from '../arguments.ts';

/** The mount that -mount names. @throws Failure `invalid` for what is no path of one */
export function mountOf(flags: Arguments['flags']): string {
  const mount = (flags.get('mount') ?? 'pki').replace(/^\/|\/$/g, '');
  if (!/^\w[\w.-]*(?:\/\w[\w.-]*)*$/.test(mount)) {
    throw invalid('the mount of -mount must be a path such as "pki"');
  }
  return mount;
}
