import { readFileSync } from 'node:fs';
import { type Config, parseConfig } from '../config/config.ts';
import { invalid } from '../core/failure.ts';
import type { StoreOptions } from '../store/store.ts';
import type { Arguments, FlagTable } from './arguments.ts';

/** Flags that say which database is meant. */
export const PLACE_FLAGS: FlagTable = {
  config: { value: 'FILE', help: "the server's configuration file" },
  data: { value: 'DIR', help: "in its place: a development server's data folder" },
};

/** @throws Failure `invalid` naming what is wrong with the file */
export function readConfig(file: string): Config {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw invalid(`the configuration file "${file}" cannot be read`, { cause });
  }
  return parseConfig(text);
}

/** @throws Failure `invalid` unless exactly one of the flags is given */
export function readPlace(flags: Arguments['flags']): StoreOptions {
  const config = flags.get('config');
  const data = flags.get('data');
  if ((config === undefined) === (data === undefined)) {
    throw invalid('give either -config FILE or -data DIR');
  }
  if (config === undefined) return { engine: 'sqlite', directory: data ?? '' };
  const { storage } = readConfig(config);
  return storage.type === 'sqlite'
    ? { engine: 'sqlite', directory: storage.directory }
    : { engine: 'postgres', url: storage.url, node_name: storage.node_name };
}
