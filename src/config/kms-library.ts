import { z } from 'zod';
import { invalid } from '../core/failure.ts';
import { absentAsNull, choice, readBy, seconds, text } from './kinds.ts';

/** A shared library that the server may load, which the API speaks of by its name alone. */
export interface KmsLibrary {
  name: string;
  type: 'pkcs11';
  /** Absolute path. */
  library: string;
  timeout_ms: number;
  /** Path of the program that loads it; another one in tests. */
  entry?: string;
}

const MOST = 16;

const NAME = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;
const libraryName = readBy(text, (name) => {
  if (NAME.test(name)) return name;
  throw invalid(': lower-case letters, digits, and between them ".", "_" and "-"');
}).meta({ takes: 'text', otherwise: 'none; needed' });

const libraryPath = readBy(text, (path) => {
  if (path.startsWith('/')) return path;
  throw invalid(' must be an absolute path');
}).meta({ takes: 'text', otherwise: 'none; needed' });

const library = z.strictObject({
  name: libraryName.describe(
    'what `sys/managed-keys` and the seal `pkcs11` call it; see [keys in hardware](managed-keys.md)',
  ),
  type: choice(['pkcs11']).default('pkcs11').describe('what kind of library it is'),
  library: libraryPath.describe(
    'its path. Only this file names what is loaded: a path that came over the API would run whatever is there',
  ),
  timeout: seconds
    .default(10)
    .describe('seconds for one use of a key; the process that has the library is killed then'),
});

/** `kms_library` in the configuration file. */
export const kmsLibraries = absentAsNull(
  readBy(z.array(library, ' must be a list'), (listed) => {
    const names = listed.map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw invalid(` has "${twice}" twice`);
    if (listed.length > MOST) throw invalid(` must have at most ${MOST}`);
    return listed;
  })
    .meta({ takes: 'list' })
    .default([]),
);

export const kmsLibrariesOf = (
  listed: readonly z.output<typeof library>[],
): readonly KmsLibrary[] =>
  listed.map(({ name, type, library: path, timeout }) => ({
    name,
    type,
    library: path,
    timeout_ms: timeout * 1000,
  }));
