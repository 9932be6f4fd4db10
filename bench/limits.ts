// What this machine can do at best, so that a figure means something on any machine.

import { generateKeyPairSync, sign } from 'node:crypto';
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** The bare limits of one core and one disk, in operations a second. */
export interface Limits {
  /** A P-256 key pair and a P-256 signature. */
  key_and_signature: number;
  signature: number;
  /** 4 KiB appended to a file and waited for. */
  synced_append: number;
}

export function measureLimits(directory: string, milliseconds: number): Limits {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const data = Buffer.alloc(600, 1);
  const file = join(directory, 'append');
  const handle = openSync(file, 'w', 0o600);
  const page = Buffer.alloc(4096, 1);
  try {
    return {
      key_and_signature: rate(milliseconds, () => {
        generateKeyPairSync('ec', { namedCurve: 'P-256' });
        sign('sha256', data, privateKey);
      }),
      signature: rate(milliseconds, () => sign('sha256', data, privateKey)),
      synced_append: rate(milliseconds, () => {
        writeSync(handle, page);
        fdatasyncSync(handle);
      }),
    };
  } finally {
    closeSync(handle);
    rmSync(file);
  }
}

function rate(milliseconds: number, once: () => void): number {
  const start = performance.now();
  let count = 0;
  while (performance.now() - start < milliseconds) {
    once();
    count += 1;
  }
  return (count / (performance.now() - start)) * 1000;
}
