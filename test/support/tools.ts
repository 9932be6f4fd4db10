/** Other people's programs that judge the server, where they are installed. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const folder =
  process.env.GATEHOUSE_TOOLS ??
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'gatehouse-tools');

/** What a test needs to know of a tool; `skip` goes into the options of the test. */
export interface Tool {
  path: string;
  /** Why the tests with it do not run; `false` where they do. */
  skip: string | false;
}

/**
 * Finds a program or package that `test/interop/install-tools.sh` installs.
 *
 * @param inside its path in the folder of tools
 * @throws Error when it is missing and GATEHOUSE_TOOLS_REQUIRED is set, so that a check that is to
 *         run every judge cannot pass without one
 */
export function findTool(inside: string): Tool {
  const path = join(folder, inside);
  return { path, skip: existsSync(path) ? false : explainAbsence(inside) };
}

/** Finds a command of the system, e.g. `certtool`; the same otherwise. */
export function findCommand(command: string): Tool {
  const { error } = spawnSync(command, ['--version'], { stdio: 'ignore' });
  return { path: command, skip: error === undefined ? false : explainAbsence(command) };
}

function explainAbsence(tool: string): string {
  const told = `${tool} is not installed; test/interop/install-tools.sh and .ci/run install it`;
  if (process.env.GATEHOUSE_TOOLS_REQUIRED) throw new Error(told);
  return told;
}
