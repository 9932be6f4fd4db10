/** SoftHSM, the PKCS #11 module of a device that is none, where it is installed. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newDirectory, type Scope } from './node-process.ts';
import type { Tool } from './tools.ts';
import { findCommand } from './tools.ts';

const PLACES = [
  '/usr/lib/softhsm/libsofthsm2.so',
  '/usr/lib64/softhsm/libsofthsm2.so',
  '/usr/local/lib/softhsm/libsofthsm2.so',
  '/opt/homebrew/lib/softhsm/libsofthsm2.so',
];

/** The module's path; `skip` says why tests with it do not run. */
export function findSoftHsm(): Tool {
  const path = PLACES.find((one) => existsSync(one));
  return path === undefined ? findCommand('softhsm2-util') : { path, skip: false };
}

export const PIN = '8231';

/** A token of the test's own. `SOFTHSM2_CONF` of this process names its folder, for modules loaded from now on. */
export interface SoftToken {
  token_label: string;
  /** Where its objects lie; who moves it away has pulled the device. */
  folder: string;
  slot: string;
}

export function makeSoftToken(test: Scope, token_label = 'gatehouse'): SoftToken {
  const directory = newDirectory(test);
  const folder = join(directory, 'tokens');
  mkdirSync(folder);
  const file = join(directory, 'softhsm2.conf');
  writeFileSync(file, `directories.tokendir = ${folder}\nobjectstore.backend = file\n`);
  const before = process.env.SOFTHSM2_CONF;
  process.env.SOFTHSM2_CONF = file;
  test.after(() => {
    if (before === undefined) delete process.env.SOFTHSM2_CONF;
    else process.env.SOFTHSM2_CONF = before;
  });
  const made = spawnSync(
    'softhsm2-util',
    [
      ...['--init-token', '--free', '--label', token_label],
      ...['--pin', PIN, '--so-pin', '47110815'],
    ],
    { encoding: 'utf8' },
  );
  const [, slot] = /slot (\d+)/.exec(made.stdout.split('\n').at(-2) ?? '') ?? [];
  if (!slot) throw new Error(`no token was made: ${made.stdout}${made.stderr}`);
  return { token_label, folder, slot };
}
