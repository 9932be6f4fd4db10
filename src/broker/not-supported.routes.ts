import { z } from 'zod';
import { Failure } from '../core/failure.ts';
import { type AnyBoundaryRoute, boundaryRoute } from './resource/route.ts';

// What clients of this API know and this server has not: they hear so, rather than that there
// is no such path.

type Endpoint = readonly [method: AnyBoundaryRoute['method'], path: AnyBoundaryRoute['path']];

const OWN_KEYS =
  'Scopes have no keys of their own: the keys of the whole server are seen at sys/key-status and renewed by sys/rotate.';

const UNAVAILABLE: readonly [because: string, endpoints: readonly Endpoint[]][] = [
  [
    'Recordings of sessions are downloaded as asciicasts, and not exported',
    [
      ['GET', '/v1/session-recordings/{id}:export'],
      ['GET', '/v1/session-recordings:list-exports'],
    ],
  ],
  [
    'Alias suffixes are not available on this server',
    [
      ['POST', '/v1/scopes/{id}:set-alias-suffix'],
      ['POST', '/v1/scopes/{id}:remove-alias-suffix'],
    ],
  ],
  [
    OWN_KEYS,
    [
      ['GET', '/v1/scopes/{id}:list-keys'],
      ['POST', '/v1/scopes:rotate-keys'],
      ['GET', '/v1/scopes/{id}:list-key-version-destruction-jobs'],
      ['POST', '/v1/scopes:destroy-key-version'],
    ],
  ],
];

export const unavailableRoutes: readonly AnyBoundaryRoute[] = UNAVAILABLE.flatMap(
  ([because, endpoints]) =>
    endpoints.map(([method, path]) =>
      boundaryRoute({
        id: `unavailable-${method}-${path.slice('/v1/'.length).replaceAll(/[^a-z]+/g, '-')}`.toLowerCase(),
        method,
        on_any_thread: true,
        path,
        summary: 'Not available on this server',
        access: 'public',
        // Whatever is sent, the answer is the same.
        input: z.looseObject({}),
        output: z.null(),
        failures: ['unsupported'],
        run: async () => {
          throw new Failure('unsupported', because);
        },
      }),
    ),
);
