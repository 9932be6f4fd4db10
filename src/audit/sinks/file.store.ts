import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  BEGINNING_LENGTH,
  type Found,
  judgeFile,
  judgeFolder,
  judgePath,
  judgeStep,
  looksLikeRecords,
} from '../../config/audit-file.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { mayHaveUser } from '../../core/place.ts';
import type { ChainHead } from '../../core/record-chain.ts';
import { encodeSinkLine, findLastRecord, type SinkLine } from '../sink-line.ts';
import type { FedRecord, Sink } from './sink.ts';

interface OpenFile {
  handle: FileHandle;
  /** Bytes of it after the last look at its end; more means that somebody else adds to it, too. */
  size: number;
  /** Which file the name led to when it was opened. */
  dev: number;
  ino: number;
}

/** How a file of records is to be opened. */
interface FileOptions {
  /** Permission bits of a new file, 0600 unless given. */
  mode?: number;
  /** Folders that records must not be put into: the server's own. */
  kept_apart?: readonly string[];
  /** Whose records they are. Without it the file's end is not looked at. */
  chain?: OwnChain;
}

/** The chain that a file of records is to go on with. */
export interface OwnChain {
  node: string;
  /** Whether a record found in a file is one of the chain's, kept or deleted since. */
  has(record: ChainHead): Promise<boolean>;
}

/**
 * A file that lines are added to, each batch safe on the disk before it counts as taken. It is
 * opened anew when its name leads elsewhere: after a rotation that moved or removed it.
 */
export function openFileSink(path: string, options: FileOptions = {}): Sink {
  let opened: OpenFile | undefined;
  let stale = false;
  const ending = new AbortController();

  async function requireOpen(): Promise<OpenFile> {
    const known = opened;
    if (known && !stale && (await leadsTo(path, known))) return known;
    await drop();
    stale = false;
    opened = await openFile(path, options);
    return opened;
  }

  async function drop(): Promise<void> {
    const { handle } = opened ?? {};
    opened = undefined;
    await handle?.close();
  }

  async function add(records: readonly FedRecord[]): Promise<void> {
    ending.signal.throwIfAborted();
    const file = await requireOpen();
    const { handle } = file;
    try {
      const { size } = await handle.stat();
      if (size !== file.size) await requireOwnEnd(path, handle, size, options.chain);
      const lines = records.map((record) => `${encodeSinkLine(record)}\n`).join('');
      // It may have been closed while all this was looked at.
      ending.signal.throwIfAborted();
      await handle.appendFile(lines);
      await handle.datasync();
      file.size = size + Buffer.byteLength(lines);
    } catch (error) {
      // A line may be torn: opening the file again ends it.
      await drop().catch(() => {});
      throw error;
    }
  }

  return {
    put: (records) => oneByOne(path, () => add(records)),
    reopen: () => {
      stale = true;
    },
    close() {
      ending.abort();
      return drop();
    },
  };
}

/** What is done with files, by their paths. */
const underWay = new Map<string, Promise<unknown>>();

/**
 * Does something with a file after all that was begun before: another sink of it, of which one may be ending, would
 * find lines half written, or tear them.
 */
async function oneByOne<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const doing = (underWay.get(path) ?? Promise.resolve()).then(work);
  const done = doing.catch(() => {});
  underWay.set(path, done);
  try {
    return await doing;
  } finally {
    if (underWay.get(path) === done) underWay.delete(path);
  }
}

/** Makes sure that lines can be added to a file, creating it. @throws Failure `invalid` */
export async function checkFileSink(path: string, options: FileOptions): Promise<void> {
  try {
    await oneByOne(path, async () => {
      const { handle } = await openFile(path, options);
      await handle.close();
    });
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    throw invalid(`unable to open "${path}" for writing: ${code}`, { cause });
  }
}

async function openFile(
  path: string,
  { mode = 0o600, kept_apart, chain }: FileOptions,
): Promise<OpenFile> {
  await requirePlace(path, kept_apart ?? []);
  // Looked at before it is opened: opening alone can set a device going.
  const present = await find(path);
  if (present) refuse(path, judgeFile(present, ownUser()));
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW;
  // Not waiting: a pipe in the file's place must not hold the server. What came into being since it
  // was looked for is not taken for a new file of the server's own.
  const way = present ? constants.O_NONBLOCK : constants.O_CREAT | constants.O_EXCL;
  const handle = await open(path, flags | way, mode);
  try {
    const stats = await handle.stat();
    refuse(path, judgeFile(factsOf(stats), ownUser()));
    await requireOwnEnd(path, handle, stats.size, chain);
    await endLine(path, handle, stats.size);
    if (!present) await syncDirectory(dirname(path));
    const { size } = await handle.stat();
    return { handle, size, dev: stats.dev, ino: stats.ino };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** So far back, in bytes, a node's last record is looked for; further on among the records of others. */
const TAILS = [64 << 10, 4 << 20];

/**
 * Makes sure that a file does not go on with records of another chain under this node's name: a copy of
 * the server that was restored from a backup would spoil the file of the one that it is a copy of.
 *
 * @throws Failure `invalid`
 */
async function requireOwnEnd(
  path: string,
  handle: FileHandle,
  size: number,
  chain: OwnChain | undefined,
): Promise<void> {
  if (!chain) return;
  for (const length of TAILS) {
    const from = Math.max(0, size - length);
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(size - from),
      0,
      size - from,
      from,
    );
    const tail = buffer.toString('utf8', 0, bytesRead);
    const last = findLastRecord(tail, { node: chain.node, is_whole: from === 0 });
    if (last && !(await chain.has(last))) refuse(path, notOwn(last));
    if (last || from === 0) return;
  }
}

const notOwn = ({ node, seq }: SinkLine): string =>
  `its record ${seq} of node "${node}" is none of this server's: another server, or what it was before a backup was restored, wrote it. Give this sink another path ("audit.sinks[].path", or "file_path" of the device), or move the file away`;

/** Ends a line that was torn. @throws Failure `invalid` if the file holds something else than records */
async function endLine(path: string, handle: FileHandle, size: number): Promise<void> {
  if (size === 0) return;
  const { buffer, bytesRead } = await handle.read(
    Buffer.alloc(BEGINNING_LENGTH),
    0,
    BEGINNING_LENGTH,
    0,
  );
  if (!looksLikeRecords(buffer.toString('latin1', 0, bytesRead))) {
    refuse(path, 'holds something else than audit records');
  }
  const last = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  if (last.buffer[0] !== 0x0a) await handle.appendFile('\n');
}

/** Most links on the way to a file, as the system itself has it. */
const MOST_LINKS = 40;

/**
 * Goes the way to a file, folder by folder and through each link, and makes sure that nobody but the
 * server's user and root could lead it elsewhere.
 *
 * @throws Failure `invalid` saying what is in the way
 */
async function requirePlace(path: string, kept_apart: readonly string[]): Promise<void> {
  refuse(path, judgePath(path));
  const ahead = dirname(path).split('/').filter(Boolean);
  let at = '/';
  let links = 0;
  for (let name: string | undefined = ''; name !== undefined; name = ahead.shift()) {
    if (name === '..') at = dirname(at);
    else if (name !== '') {
      const next = join(at, name);
      const found = await find(next);
      if (!found) throw invalid(`"${path}" cannot be used: there is no "${next}"`);
      const because = judgeStep(found, ownUser());
      refuse(path, because && `"${next}" ${because}`);
      if (found.kind !== 'link') at = next;
      else {
        links += 1;
        refuse(path, links > MOST_LINKS ? `"${next}" leads through too many links` : undefined);
        const target = await readlink(next);
        ahead.unshift(...target.split('/').filter((part) => part !== '' && part !== '.'));
        if (target.startsWith('/')) at = '/';
      }
    }
  }
  const own = await Promise.all(kept_apart.map((folder) => realpath(folder).catch(() => folder)));
  refuse(path, judgeFolder(at, own));
}

/** @throws Failure `invalid` if there is a reason */
function refuse(path: string, because: string | undefined): void {
  if (because === undefined) return;
  const name = path.length > 256 ? `${path.slice(0, 256)}…` : path;
  const what = mayHaveUser(path) ? 'what has an "@"' : `"${name}"`;
  throw invalid(`${what} cannot be a file of audit records: ${because}`);
}

async function find(path: string): Promise<Found | undefined> {
  try {
    return factsOf(await lstat(path));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function factsOf(stats: Stats): Found {
  const kind = stats.isFile()
    ? 'file'
    : stats.isDirectory()
      ? 'folder'
      : stats.isSymbolicLink()
        ? 'link'
        : 'other';
  return { kind, mode: stats.mode & 0o7777, uid: stats.uid, links: stats.nlink };
}

/** Systems without users have one for all. */
function ownUser(): number {
  return process.geteuid?.() ?? 0;
}

async function leadsTo(path: string, opened: OpenFile): Promise<boolean> {
  try {
    const { dev, ino } = await lstat(path);
    return dev === opened.dev && ino === opened.ino;
  } catch {
    return false;
  }
}

/** Without it a power cut may take away the name of a file whose content is safe. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
