/** A token of a device that is none, in place of a PKCS #11 module: see `fake-module/token.ts`. */

import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KmsLibrary } from '../../src/config/kms-library.ts';
import { newDirectory, type Scope } from './node-process.ts';

export const FAKE_PIN = '4-7-1-1-secret';

export interface FakeToken {
  /** For `config.kms_library`. */
  library: KmsLibrary;
  pull(): void;
  putBack(): void;
  /** Makes each use take so long, in milliseconds, while its process does nothing else. */
  slowDown(milliseconds: number): void;
  /** Puts further keys of P-256 with a label before the one that bears it. */
  double(label: string, count: number): void;
  /** Of the process that has it loaded; it must have been used. */
  pid(): number;
}

/** The library of a fake token in a folder, which is there from now on. */
export function fakeLibrary(directory: string): KmsLibrary {
  const file = join(directory, 'token.json');
  writeFileSync(file, JSON.stringify({ pin: FAKE_PIN, pairs: {}, secrets: {} }));
  const entry = join(import.meta.dirname, 'fake-module/token.ts');
  return { name: 'fake', type: 'pkcs11', library: file, timeout_ms: 10_000, entry };
}

export function makeFakeToken(test: Scope): FakeToken {
  const library = fakeLibrary(newDirectory(test));
  const { library: file } = library;
  return {
    library,
    slowDown: (milliseconds) => writeFileSync(`${file}.slow`, String(milliseconds)),
    double: (label, count) => {
      const objects = JSON.parse(readFileSync(file, 'utf8'));
      const doubles = Array.from({ length: count }, () => {
        const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
        return privateKey.export({ format: 'pem', type: 'pkcs8' });
      });
      const all = { ...objects.doubles, [label]: doubles };
      writeFileSync(file, JSON.stringify({ ...objects, doubles: all }));
    },
    pid: () => Number(readFileSync(`${file}.pid`, 'utf8')),
    pull: () => renameSync(file, `${file}.pulled`),
    putBack: () => renameSync(`${file}.pulled`, file),
  };
}
