/**
 * Where a file of records may be. Whoever may enable a device over the API could otherwise have the
 * server write beside its database or into somebody's files, and whoever owns a folder on the way
 * could lead a server with more rights elsewhere.
 */

/** What the system says of a name, the last links not followed. */
export interface Found {
  kind: 'file' | 'folder' | 'link' | 'other';
  /** Permission bits, the upper ones too. */
  mode: number;
  uid: number;
  /** Names that lead to it. */
  links: number;
}

const LONGEST_PATH = 4095;
const LONGEST_NAME = 255;
/**
 * In the first three files are none: a line written into one sets something. In the others programs
 * with more rights look for their settings, for what to run, and for each other.
 */
const SYSTEM_FOLDERS = [
  ...['/proc', '/sys', '/dev'],
  ...['/etc', '/run', '/boot', '/bin', '/sbin', '/lib', '/lib64', '/var/spool'],
  ...['/usr/bin', '/usr/sbin', '/usr/lib', '/usr/lib64', '/usr/libexec', '/usr/share'],
];

/** Why a path cannot be one of a file of records, whatever is there; undefined if it can. */
export function judgePath(path: string): string | undefined {
  if (!path.startsWith('/')) return 'it must be an absolute path';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  if (/[\u0000-\u001f\u007f]/.test(path)) return 'it must not have control characters';
  const names = path.slice(1).split('/');
  if (Buffer.byteLength(path) > LONGEST_PATH) return `it must have at most ${LONGEST_PATH} bytes`;
  if (names.some((name) => Buffer.byteLength(name) > LONGEST_NAME)) {
    return `each of its names must have at most ${LONGEST_NAME} bytes`;
  }
  if (names.some((name) => name === '' || name === '.' || name === '..')) {
    return 'it must be written without empty names, "." and ".."';
  }
  return undefined;
}

/**
 * Why there must be no file of records in a folder; undefined if there may be.
 *
 * @param folder     its own path, after all links
 * @param kept_apart folders of the server's own, after all links
 */
export function judgeFolder(folder: string, kept_apart: readonly string[]): string | undefined {
  const isWithin = (other: string): boolean => `${folder}/`.startsWith(`${other}/`);
  if (SYSTEM_FOLDERS.some(isWithin)) return 'it is in a folder of the system';
  if (kept_apart.some(isWithin)) return "it is in the server's data folder";
  return undefined;
}

/** Why a folder or link on the way cannot be relied on; undefined if it can. */
export function judgeStep(found: Found, uid: number): string | undefined {
  if (found.kind !== 'folder' && found.kind !== 'link') return 'is no folder';
  if (!isTrusted(found.uid, uid)) return 'belongs to another user';
  // Where everybody may write, only the sticky bit keeps them from moving what is not theirs.
  if (found.kind === 'folder' && (found.mode & 0o1002) === 0o0002)
    return 'can be changed by everybody';
  return undefined;
}

/** Why what is there cannot be added to; undefined if it can. */
export function judgeFile(found: Found, uid: number): string | undefined {
  if (found.kind === 'link') return 'is a symbolic link';
  if (found.kind !== 'file') return 'is not a regular file';
  if (!isTrusted(found.uid, uid)) return 'belongs to another user';
  if (found.links !== 1) return 'has more than one name';
  if ((found.mode & 0o022) !== 0) return 'can be changed by others than its owner';
  if ((found.mode & 0o7111) !== 0) return 'is a program';
  return undefined;
}

function isTrusted(owner: number, uid: number): boolean {
  return owner === uid || owner === 0;
}

/** How every line of a sink begins. */
const BEGINNING = '{"node":"';
/** So many bytes of a file tell what it is. */
export const BEGINNING_LENGTH = BEGINNING.length;

/**
 * Whether a file is one of records, or empty.
 *
 * @param beginning its first {@link BEGINNING_LENGTH} bytes; the first line may be torn, and ended
 *   since then
 */
export function looksLikeRecords(beginning: string): boolean {
  const [line = ''] = beginning.split('\n');
  return BEGINNING.startsWith(line);
}
