import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Failure } from '../../../core/failure.ts';
import { encodeSinkLine } from '../../sink-line.ts';
import type { Sink } from '../sink.ts';

interface OpenFile {
  handle: FileHandle;
  /** Which file the name led to when it was opened. */
  dev: number;
  ino: number;
}

/**
 * A file that lines are added to, each batch safe on the disk before it counts as taken. It is
 * opened anew when its name leads elsewhere: after a rotation that moved or removed it.
 *
 * @param mode permission bits of a new file
 */
export function openFileSink(path: string, mode = 0o600): Sink {
  let opened: OpenFile | undefined;
  let stale = false;

  async function requireOpen(): Promise<OpenFile> {
    if (opened && !stale && (await leadsTo(path, opened))) return opened;
    await close();
    stale = false;
    opened = await openFile(path, mode);
    return opened;
  }

  async function close(): Promise<void> {
    const { handle } = opened ?? {};
    opened = undefined;
    await handle?.close();
  }

  return {
    async put(records) {
      const { handle } = await requireOpen();
      try {
        await handle.appendFile(records.map((record) => `${encodeSinkLine(record)}\n`).join(''));
        await handle.datasync();
      } catch (error) {
        // A line may be torn: opening the file again ends it.
        await close().catch(() => {});
        throw error;
      }
    },
    reopen: () => {
      stale = true;
    },
    close,
  };
}

/** Makes sure that lines can be added to a file, creating it. @throws Failure `invalid` */
export async function checkFileSink(path: string, mode: number): Promise<void> {
  try {
    const { handle } = await openFile(path, mode);
    await handle.close();
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    throw new Failure('invalid', `unable to open "${path}" for writing: ${code}`, { cause });
  }
}

async function openFile(path: string, mode: number): Promise<OpenFile> {
  // Not waiting: a pipe in the file's place must not hold the server.
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
  const existed = await stat(path).then(
    () => true,
    () => false,
  );
  const handle = await open(path, flags, mode);
  try {
    const { dev, ino, size, ...found } = await handle.stat();
    if ((found.mode & constants.S_IFMT) !== constants.S_IFREG) {
      throw new Failure('invalid', `"${path}" is not a regular file`);
    }
    if (size > 0) {
      const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
      if (buffer[0] !== 0x0a) await handle.appendFile('\n');
    }
    if (!existed) await syncDirectory(dirname(path));
    return { handle, dev, ino };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function leadsTo(path: string, opened: OpenFile): Promise<boolean> {
  try {
    const { dev, ino } = await stat(path);
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
