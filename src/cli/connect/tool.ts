import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { Failure } from '../../core/failure.ts';

/** A program of somebody else's, with all that it is told. */
export interface Tool {
  command: string;
  /** Everybody on this machine can read these. */
  args: readonly string[];
  /** Added to the environment; undefined takes a name out of it. */
  env: Readonly<Record<string, string | undefined>>;
}

const PASSED_ON = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
/** What a terminal sends to the tool as well as to this program. */
const OF_TERMINALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];

/**
 * Runs a tool on this program's terminal to its end. Signals are passed on.
 *
 * @returns its exit code; 128 and the signal's number where one ended it
 * @throws Failure `unavailable` when there is no such program
 */
export function runTool({ command, args, env }: Tool): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  // Asked of the system: Node's own stream would take input away from the tool.
  const isOnTerminal = isatty(0);
  const passOn = (signal: NodeJS.Signals): void => {
    if (!OF_TERMINALS.includes(signal) || !isOnTerminal) child.kill(signal);
  };
  for (const signal of PASSED_ON) process.on(signal, passOn);
  return new Promise<number>((resolve, reject) => {
    child.once('error', (cause) => {
      const isMissing = Reflect.get(cause, 'code') === 'ENOENT';
      const why = isMissing ? 'there is no such program in PATH' : cause.message;
      reject(new Failure('unavailable', `${command} cannot be run: ${why}`, { cause }));
    });
    child.once('exit', (code, signal) => {
      resolve(code ?? 128 + (signal ? constants.signals[signal] : 0));
    });
  }).finally(() => {
    for (const signal of PASSED_ON) process.off(signal, passOn);
  });
}
