import { constants, createReadStream } from 'node:fs';
import { lstat, mkdir, open, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ObjectStore, StorageFault } from './objects.ts';

/** Files are for this server's user alone. */
const MODES = { folder: 0o700, file: 0o600 };
const GO_ON = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW;

/** Files of a folder of this machine: pieces are appended, each on disk before it is said to be. */
export function localObjects(folder: string): ObjectStore {
  const pathOf = (name: string): string => join(folder, ...name.split('/'));
  return {
    async append(name, at, piece) {
      const path = pathOf(name);
      await within(`${name} could not be written`, async () => {
        const made =
          at === 0
            ? await mkdir(dirname(path), { recursive: true, mode: MODES.folder })
            : undefined;
        // The first piece makes the file: one that is there belongs to somebody else. No other does: where it is gone,
        // what was in it is.
        const file = await open(path, at === 0 ? 'ax' : GO_ON, MODES.file);
        try {
          await file.appendFile(piece);
          await file.datasync();
        } finally {
          await file.close();
        }
        if (at === 0) await syncFolders(dirname(path), made);
      });
    },
    async *read(name) {
      try {
        for await (const bytes of createReadStream(pathOf(name))) yield bytes as Buffer;
      } catch (cause) {
        throw new StorageFault(`${name} could not be read: ${codeOf(cause)}`, { cause });
      }
    },
    remove: (name) =>
      within(`${name} could not be removed`, () => rm(pathOf(name), { force: true })),
    async removeFolder(name) {
      // What somebody else has put there stays.
      await rmdir(pathOf(name)).catch(() => {});
    },
  };
}

/** @throws StorageFault for what is no folder that is there already */
export async function requireFolder(folder: string): Promise<void> {
  const found = await lstat(folder).catch((cause: unknown) => {
    throw new StorageFault(`${folder}: ${codeOf(cause)}`, { cause });
  });
  // A link can be led elsewhere after it was looked at.
  if (!found.isDirectory()) throw new StorageFault(`${folder} is no folder`);
}

/** A folder, and where folders were made for it those that name them. @param made the first of them */
async function syncFolders(folder: string, made: string | undefined): Promise<void> {
  await syncFolder(folder);
  if (made === undefined) return;
  for (let at = folder; at.length >= made.length; at = dirname(at)) await syncFolder(dirname(at));
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function within(what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw new StorageFault(`${what}: ${codeOf(cause)}`, { cause });
  }
}

const codeOf = (cause: unknown): string =>
  (cause as NodeJS.ErrnoException | undefined)?.code ?? 'it failed';
