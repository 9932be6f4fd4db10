/** Every setting of a worker's configuration file. */

import { z } from 'zod';
import { faultOfAll } from '../../broker/workers/tags.ts';
import { absentAsNull, address, choice, readBy, text, texts } from '../../config/kinds.ts';
import { readBySchema } from '../../config/read.ts';
import { LOG_LEVELS, publicAddress } from '../../config/settings.ts';
import { invalid } from '../../core/failure.ts';

export const workerSettings = z.strictObject({
  name: text.optional().meta({
    otherwise: 'that it was created with',
    description:
      'what filters call it, lower case; it must not be another than it was created with',
  }),
  description: text.optional().meta({ otherwise: 'none', description: 'for people' }),
  servers: readBy(texts, (listed) => {
    if (listed.length > 0) return listed;
    throw invalid(' must name at least one server');
  }).meta({
    takes: 'list of `HOST:PORT`',
    otherwise: 'none; needed',
    description:
      'where servers listen for workers (`worker_listener`); the worker holds a connection to one of them',
  }),
  listener: z.preprocess(
    (value) => (value === undefined ? {} : value),
    z
      .strictObject(
        {
          address: address
            .prefault('127.0.0.1:9202')
            .describe(
              'where clients of sessions and other workers come to; `"listener": null`: nobody does, and the worker reaches endpoints for other workers alone',
            ),
          public_address: publicAddress
            .optional()
            .describe('where they reach it, if that is elsewhere'),
        },
        ' must be an object, or null',
      )
      .nullable(),
  ),
  state: text.meta({
    otherwise: 'none; needed',
    description: 'folder for its key and certificate, its own alone',
  }),
  activation_token: text.optional().meta({
    otherwise: 'none: the worker prints a token of its own at its first start',
    description:
      'what it was created with, as it is, or where it is: `env://NAME`, `file://PATH`; used at its first start',
  }),
  tags: readBy(
    absentAsNull(z.record(z.string(), texts, ' must be lists of texts, by key').default({})),
    (tags) => {
      const fault = faultOfAll(tags);
      if (fault === undefined) return tags;
      throw invalid(`: ${fault}`);
    },
  ).meta({
    takes: 'lists of texts, by key',
    otherwise: 'none',
    description: 'what filters find it by',
  }),
  log_level: absentAsNull(choice(LOG_LEVELS).default('info')).describe('the least that is logged'),
});
export type WorkerSettings = z.output<typeof workerSettings>;

/** @throws Failure `invalid` naming the key and what would be accepted */
export const readWorkerSettings = (text: string): WorkerSettings =>
  readBySchema(workerSettings, text);
