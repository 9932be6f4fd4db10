import { isAbsolute, normalize } from 'node:path';
import { z } from 'zod';
import { absentAsNull, blocks, flag, readBy, section } from './kinds.ts';
import type { ReachRules } from './reach-rules.ts';

/** Where storage buckets for session recordings may lie. */
export interface StorageBucketRules extends ReachRules {
  /** Absolute folders of this machine within which those of the plugin `local` may be; empty: nowhere. */
  local_folders: readonly string[];
}

const FOLDERS = ' must be a list of absolute paths such as ["/var/lib/gatehouse/recordings"]';

const areAbsolute = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && isAbsolute(one));

const folders = readBy(z.custom<readonly string[]>(areAbsolute, FOLDERS), (given) =>
  given.map((one) => normalize(one)),
).meta({ takes: 'list of absolute paths' });

export const storageBuckets = section({
  local_folders: absentAsNull(folders.default([])).meta({
    otherwise: 'none (all for a development server)',
    description:
      'folders within which storage buckets of the plugin `local` may be, for [recordings of sessions](session-recording.md)',
  }),
  allow_loopback: flag.default(false).meta({
    otherwise: '`false` (`true` for a development server)',
    description:
      'an S3 server of a storage bucket may be on this machine, by loopback or an address of one of its interfaces',
  }),
  allowed_networks: absentAsNull(blocks.default([])).meta({
    otherwise: 'all',
    description: 'where those S3 servers may be',
  }),
  denied_networks: absentAsNull(blocks.default([])).describe('where they must not be'),
});

/** Of a development server. */
export const DEV_STORAGE_BUCKETS: StorageBucketRules = {
  local_folders: ['/'],
  allow_loopback: true,
  allowed_networks: [],
  denied_networks: [],
};
