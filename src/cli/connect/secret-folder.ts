import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that nobody else can look into, for what a tool takes from files alone. */
export interface SecretFolder {
  /** @returns where it is */
  write(name: string, text: string): string;
  /** The same, of a program. */
  writeProgram(name: string, text: string): string;
  /** Removes all of it; done when this program ends, too. */
  remove(): void;
}

/** In memory where the system has a place for that, which goes when its user leaves. */
export function makeSecretFolder(env: Readonly<Record<string, string | undefined>>): SecretFolder {
  const folder = mkdtempSync(join(runtimeFolder(env) ?? tmpdir(), 'gatehouse-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  const write = (name: string, text: string, mode: number): string => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode, flag: 'wx' });
    return path;
  };
  return {
    write: (name, text) => write(name, text, 0o600),
    writeProgram: (name, text) => write(name, text, 0o700),
    remove: () => {
      process.off('exit', remove);
      remove();
    },
  };
}

function runtimeFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const folder = env.XDG_RUNTIME_DIR;
  if (!folder) return undefined;
  const found = statSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() && found.uid === process.getuid?.() ? folder : undefined;
}
