/** OpenSSL's command line as a judge: its own folder for files, its answer as text. */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface OpensslAnswer {
  status: number | null;
  /** Standard output and error, one after the other. */
  text: string;
}

export interface Openssl {
  /** Runs `openssl ARG…` in the folder. */
  run(...args: string[]): OpensslAnswer;
  /** The same, and throws unless it succeeds. */
  must(...args: string[]): string;
  write(name: string, content: string | Uint8Array): void;
  read(name: string): Uint8Array;
}

/** Writes a certificate that a server may have, and its key, where its configuration says that they are. */
export function writeTlsPair(tls: { cert_file: string; key_file: string }): void {
  execFileSync('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
    ...['-keyout', tls.key_file, '-out', tls.cert_file, '-subj', '/CN=localhost', '-days', '2'],
  ]);
}

/** Calls `use` with a folder that is gone afterwards. */
export function withOpenssl(use: (openssl: Openssl) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-openssl-'));
  const run = (...args: string[]): OpensslAnswer => {
    const { status, stdout, stderr, error } = spawnSync('openssl', args, {
      cwd: folder,
      encoding: 'utf8',
      input: '',
      timeout: 30_000,
    });
    if (error) throw error;
    return { status, text: stdout + stderr };
  };
  try {
    use({
      run,
      must(...args) {
        const { status, text } = run(...args);
        if (status !== 0) throw new Error(`openssl ${args.join(' ')}: ${text}`);
        return text;
      },
      write: (name, content) => writeFileSync(join(folder, name), content),
      read: (name) => new Uint8Array(readFileSync(join(folder, name))),
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Only so OpenSSL takes no delta that is newer for a complete CRL. */
export const WITH_DELTAS: readonly string[] = ['-use_deltas', '-extended_crl'];
