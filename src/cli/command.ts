import { Failure, invalid } from '../core/failure.ts';
import { type Arguments, type FlagTable, helpText, parseArguments } from './arguments.ts';
import { printable } from './output.ts';

/** One command, whole: what it is called with, what it says of itself, what it does. */
export interface Command {
  /** As it is typed, without `gatehouse`, e.g. `operator backup -config FILE OUT`. */
  usage: string;
  /** One line for the list of commands. */
  summary: string;
  /** What somebody should know before using it; the summary when there is nothing else. */
  about?: string;
  flags: FlagTable;
  /** Names of what is given without a flag; all of them must be, and nothing else. */
  operands?: readonly string[];
  /** Names of what may follow them. */
  may_follow?: readonly string[];
  /** What stands behind `--` is for another program; else it is read as operands. */
  passes_on?: true;
  /** The exit code when it cannot be done at all; 1 unless given. */
  failure_code?: number;
  /** @returns the exit code */
  run(given: Arguments): Promise<number>;
}

/** Commands that share their first words. */
export interface CommandGroup {
  /** The words so far, e.g. `operator`; empty for the program itself. */
  words: string;
  summary: string;
  commands: Readonly<Record<string, Command | CommandGroup | Deferred>>;
  /** What is run where no command of it is named. */
  itself?: Command;
  /** How one has done what none of its commands does, as the end of a sentence. */
  otherwise?: string;
}

/** One whose modules are loaded when it is called: a small command need not wait for a server's. */
interface Deferred {
  summary: string;
  load(): Promise<Command | CommandGroup>;
}

/**
 * Finds the command that the arguments name and runs it.
 *
 * @returns the exit code
 * @throws Failure `invalid` for an unknown command, flag or operand
 */
export async function run(
  command: Command | CommandGroup | Deferred,
  args: readonly string[],
): Promise<number> {
  if ('load' in command) return run(await command.load(), args);
  return 'commands' in command ? runGroup(command, args) : runCommand(command, args);
}

/** @param hint what else may have been meant by too many arguments */
async function runCommand(command: Command, args: readonly string[], hint = ''): Promise<number> {
  try {
    return await runChecked(command, args, hint);
  } catch (error) {
    if (command.failure_code === undefined || !(error instanceof Failure)) throw error;
    console.error(`gatehouse: ${printable(error.message)}`);
    return command.failure_code;
  }
}

async function runChecked(
  command: Command,
  args: readonly string[],
  hint: string,
): Promise<number> {
  const parsed = parseArguments(args, command.flags);
  const given = command.passes_on
    ? parsed
    : { ...parsed, rest: [...parsed.rest, ...parsed.passed], passed: [] };
  if (given.flags.has('help')) {
    console.log(helpText(command.usage, command.about ?? sentence(command.summary), command.flags));
    return 0;
  }
  const operands = command.operands ?? [];
  const missing = operands[given.rest.length];
  if (missing !== undefined) throw invalid(`${missing} is missing: gatehouse ${command.usage}`);
  if (given.rest.length > operands.length + (command.may_follow?.length ?? 0)) {
    // Not repeated: it may be a secret that was typed in the wrong place.
    throw invalid(`too many arguments: gatehouse ${command.usage}${hint}`);
  }
  return command.run(given);
}

async function runGroup(group: CommandGroup, args: readonly string[]): Promise<number> {
  const [word, ...rest] = args;
  const { itself } = group;
  if ((word === undefined && !itself) || word === 'help' || /^--?(h|help)$/.test(word ?? '')) {
    console.log(groupHelp(group));
    return 0;
  }
  const command =
    word !== undefined && Object.hasOwn(group.commands, word) ? group.commands[word] : undefined;
  if (!command) {
    if (itself) return runCommand(itself, args, hintOf(group, word));
    const path = ['gatehouse', group.words].join(' ').trim();
    throw invalid(`unknown command "${word}"; see ${path} -help`);
  }
  return run(command, rest);
}

/** Where the first word may have been meant for a command, which there are. */
function hintOf({ words, commands, otherwise }: CommandGroup, word = '-'): string {
  if (word.startsWith('-')) return '';
  const ways = Object.keys(commands).map((name) => `gatehouse ${words} ${name}`);
  return `; or ${[...ways, ...(otherwise ? [otherwise] : [])].join(', ')}`;
}

function groupHelp({ words, summary, commands, itself }: CommandGroup): string {
  const width = Math.max(10, ...Object.keys(commands).map((name) => name.length));
  const own =
    itself && helpText(itself.usage, itself.about ?? sentence(itself.summary), itself.flags);
  return [
    ...(own === undefined
      ? [`Usage: gatehouse ${words} COMMAND [flags]`.replace('  ', ' '), '', sentence(summary)]
      : [own, '', `Or, gatehouse ${words} COMMAND:`]),
    '',
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)} ${summary}`),
    '',
    'Each command explains itself with -help. Flags may be written with one dash or two.',
  ].join('\n');
}

function sentence(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}
