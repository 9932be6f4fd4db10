import { createReadStream, existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { invalid } from '../../core/failure.ts';
import type { Arguments } from '../arguments.ts';
import { BROKER_FLAGS, createBrokerClient, objectOf, textOf } from '../broker-client.ts';
import type { Command, CommandGroup } from '../command.ts';
import { formatOf, jsonText, pairs, printable } from '../output.ts';
import { type Pace, play } from './player.ts';
import { TERMINAL_RESET } from './screen-text.ts';

const client = (flags: Arguments['flags']) => createBrokerClient(flags, process.env);
const pathOf = (id: string): string => `session-recordings/${encodeURIComponent(id)}`;
const listOf = (value: unknown): Record<string, unknown>[] =>
  (Array.isArray(value) ? value : []).map(objectOf);

const listCommand: Command = {
  usage: 'session-recordings list [flags]',
  summary: 'list recordings of sessions, the newest first',
  flags: {
    ...BROKER_FLAGS,
    'scope-id': { value: 'ID', help: 'of the storage buckets that they lie in (global)' },
    recursive: { value: true, help: 'those of the orgs beneath as well' },
    filter: { value: 'EXPRESSION', help: 'only those that it is true of' },
  },
  async run({ flags }) {
    const format = formatOf(flags);
    const query = new URLSearchParams({ scope_id: flags.get('scope-id') ?? 'global' });
    if (flags.has('recursive')) query.set('recursive', 'true');
    const filter = flags.get('filter');
    if (filter !== undefined) query.set('filter', filter);
    const items = await listAll(client(flags), query);
    if (format === 'json') console.log(jsonText(items, 2));
    else console.log(items.length === 0 ? 'No session is recorded here.' : tableOf(items));
    return 0;
  },
};

async function listAll(
  api: ReturnType<typeof createBrokerClient>,
  query: URLSearchParams,
): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  for (;;) {
    const page = await api.call('GET', `session-recordings?${query}`);
    items.push(...listOf(page.items));
    const token = textOf(page, 'list_token');
    if (page.response_type !== 'delta' || token === '') return items;
    query.set('list_token', token);
  }
}

const COLUMNS = [
  ['ID', 'id'],
  ['SESSION', 'session_id'],
  ['STATE', 'state'],
  ['BEGAN', 'start_time'],
  ['DURATION', 'duration'],
  ['ENDPOINT', 'endpoint'],
] as const;

function tableOf(items: readonly Record<string, unknown>[]): string {
  const rows = [
    COLUMNS.map(([title]) => title as string),
    ...items.map((item) => COLUMNS.map(([, name]) => printable(textOf(item, name)) || '-')),
  ];
  const widths = COLUMNS.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const readCommand: Command = {
  usage: 'session-recordings read ID [flags]',
  summary: 'show a recording with its connections and channels',
  about:
    'Shows a recording with its connections and channels. ID is that of the recording, or of its session.',
  flags: BROKER_FLAGS,
  operands: ['ID'],
  async run({ flags, rest: [id = ''] }) {
    const format = formatOf(flags);
    const recording = await client(flags).call('GET', pathOf(id));
    console.log(format === 'json' ? jsonText(recording, 2) : describe(recording));
    return 0;
  },
};

function describe(recording: Record<string, unknown>): string {
  const values = objectOf(recording.create_time_values);
  const nameOf = (holder: unknown): string => {
    const { id = '', name = '' } = objectOf(holder);
    return name === '' ? String(id) : `${String(name)} (${String(id)})`;
  };
  const lines = pairs(
    [
      ['ID', textOf(recording, 'id')],
      ['Session', textOf(recording, 'session_id')],
      ['User', nameOf(values.user)],
      ['Target', nameOf(values.target)],
      ['Endpoint', textOf(recording, 'endpoint')],
      ['State', textOf(recording, 'state')],
      ['Error', textOf(recording, 'error_details')],
      ['Began', textOf(recording, 'start_time')],
      ['Ended', textOf(recording, 'end_time')],
      ['Duration', textOf(recording, 'duration')],
      ['Storage bucket', textOf(recording, 'storage_bucket_id')],
      ['Retained until', textOf(recording, 'retain_until')],
      ['Deleted after', textOf(recording, 'delete_after')],
    ].filter((pair): pair is [string, string] => pair[1] !== ''),
  );
  const parts = listOf(recording.connection_recordings).flatMap((connection) => [
    `Connection ${textOf(connection, 'id')}, ${textOf(connection, 'start_time')}`,
    ...listOf(connection.channel_recordings).map(describeChannel),
  ]);
  return parts.length === 0 ? lines : `${lines}\n\n${parts.join('\n')}`;
}

function describeChannel(channel: Record<string, unknown>): string {
  const attributes = objectOf(channel.attributes);
  const command = textOf(attributes, 'command');
  const what = [textOf(attributes, 'program'), command && jsonText(command)];
  const told = what.filter((word) => word !== '').join(' ');
  return `  ${textOf(channel, 'id')}  ${told}, ${textOf(channel, 'duration') || 'not closed'}`;
}

const downloadCommand: Command = {
  usage: 'session-recordings download ID [flags]',
  summary: 'write a channel into a file that asciinema plays',
  about: `Writes a channel into a file of asciicast v2, which asciinema and this program play. ID is that of a
channel; that of a recording, a session or a connection where there is only one channel.`,
  flags: {
    ...BROKER_FLAGS,
    output: { value: 'FILE', help: 'where to (ID.cast); - is standard output' },
    'no-clobber': { value: true, help: 'leave a file alone that is there' },
  },
  operands: ['ID'],
  async run({ flags, rest: [id = ''] }) {
    const out = flags.get('output') ?? `${id.replaceAll(/[^\w]/g, '_')}.cast`;
    if (flags.has('no-clobber') && out !== '-' && existsSync(out)) {
      throw invalid(`"${out}" is there already`);
    }
    const bytes = await download(flags, id);
    if (out === '-') {
      for await (const piece of bytes) await write(process.stdout, piece);
      return 0;
    }
    await writeFile(out, flags.has('no-clobber'), bytes);
    console.error(`Written to ${out}.`);
    return 0;
  },
};

const download = (flags: Arguments['flags'], id: string): Promise<AsyncIterable<Uint8Array>> =>
  client(flags).stream(`${pathOf(id)}:download?mime_type=application%2Fx-asciicast`);

/** @throws Failure `invalid` where it cannot be written */
async function writeFile(
  out: string,
  isNew: boolean,
  bytes: AsyncIterable<Uint8Array>,
): Promise<void> {
  const file = await open(out, isNew ? 'wx' : 'w', 0o600).catch((cause: unknown) => {
    throw invalid(`"${out}" cannot be written`, { cause });
  });
  try {
    for await (const piece of bytes) await file.writeFile(piece);
  } finally {
    await file.close();
  }
}

/** Returns once it is taken: what is not is lost when the program ends. */
function write(out: NodeJS.WritableStream, piece: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    out.write(piece, (error) => (error ? reject(error) : resolve()));
  });
}

const playCommand: Command = {
  usage: 'session-recordings play (ID | FILE) [flags]',
  summary: 'play a channel in this terminal',
  about: `Plays a channel in this terminal, at its pace. What is given is the id of a channel, as for download,
or a file of asciicast v2; a file whose name is like an id is given with a slash in it. Sequences that
would have the terminal answer, copy or change its window are left out.`,
  flags: {
    ...BROKER_FLAGS,
    speed: { value: 'N', help: 'so many times as fast (1)' },
    'idle-limit': { value: 'SECONDS', help: 'no pause is longer (as it was)' },
  },
  operands: ['ID or FILE'],
  async run({ flags, rest: [what = ''] }) {
    const pace: Pace = {
      speed: positive(flags, 'speed') ?? 1,
      idle_limit: positive(flags, 'idle-limit') ?? Number.POSITIVE_INFINITY,
    };
    const isId = /^(chr|cr|sr|sc|s)_[A-Za-z0-9]+$/.test(what);
    const told = await play(isId ? await download(flags, what) : readFile(what), pace);
    console.error(`${TERMINAL_RESET}\r\n[${printable(told) || 'the end'}]`);
    return 0;
  },
};

function positive(flags: Arguments['flags'], name: string): number | undefined {
  const text = flags.get(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d{0,6}(\.\d{1,6})?$/.test(text) && value > 0) return value;
  throw invalid(`flag -${name} must be a number above 0, not "${text}"`);
}

async function* readFile(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path);
  } catch (cause) {
    throw invalid(`the file "${path}" cannot be read`, { cause });
  }
}

const verifyCommand: Command = {
  usage: 'session-recordings verify ID [flags]',
  summary: 'check that no file of a recording was changed or cut',
  about: `Has the server read all files of a recording, and tells of each whether it is as it was written: every
piece opens with the key of the recording, follows from the one before it, and the last one is there. ID is
that of the recording, or of its session.

The exit code is 0 when all files are intact, 1 when one is not, and 2 when that cannot be told.`,
  flags: BROKER_FLAGS,
  operands: ['ID'],
  failure_code: 2,
  async run({ flags, rest: [id = ''] }) {
    const format = formatOf(flags);
    const verdict = await client(flags).call('POST', `${pathOf(id)}:verify`, {});
    const intact = verdict.intact === true;
    if (format === 'json') console.log(jsonText(verdict, 2));
    else {
      for (const file of listOf(verdict.files)) {
        const details = printable(textOf(file, 'error_details'));
        const why = file.intact === true ? 'intact' : details || 'changed';
        console.log(`${textOf(file, 'id').padEnd(16)} ${why}, ${String(file.pieces)} pieces`);
      }
      console.log(intact ? 'The recording is as it was written.' : 'The recording was changed.');
    }
    return intact ? 0 : 1;
  },
};

export const recordingCommands: CommandGroup = {
  words: 'session-recordings',
  summary: 'look at recordings of sessions',
  commands: {
    list: listCommand,
    read: readCommand,
    download: downloadCommand,
    play: playCommand,
    verify: verifyCommand,
  },
};
