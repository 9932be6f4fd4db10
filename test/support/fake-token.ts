/** A token of a device that is none, in place of a PKCS #11 module: see `fake-module/token.ts`. */

import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KmsLibrary } from '../../src/config/kms-library.ts';
import { newDirectory, type Scope } from './node-process.ts';

export const FAKE_PIN = '4-7-1-1-secret';

export interface FakeToken {
  /** For `config.kms_library`. */
  library: KmsLibrary;
  pull(): void;
  putBack(): void;
}

export function makeFakeToken(test: Scope): FakeToken {
  const file = join(newDirectory(test), 'token.json');
  writeFileSync(file, JSON.stringify({ pin: FAKE_PIN, pairs: {}, secrets: {} }));
  const entry = new URL('./fake-module/token.ts', import.meta.url);
  return {
    library: { name: 'fake', type: 'pkcs11', library: file, timeout_ms: 10_000, entry },
    pull: () => renameSync(file, `${file}.pulled`),
    putBack: () => renameSync(`${file}.pulled`, file),
  };
}
