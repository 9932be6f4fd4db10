import { z } from 'zod';
import { undeclared } from '../app/output.ts';
import { type AnyRoute, vaultRoute } from '../app/route.ts';
import { shortList, text } from '../core/fields.ts';
import {
  listPlugins,
  listVersions,
  readResultantAcl,
  readRotation,
  reloadPlugins,
} from './operations.ts';

const anything = undeclared;

/** Endpoints under `sys/` that clients and user interfaces ask for and that change nothing. */
export const serverRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'version-history',
    method: 'LIST',
    path: '/v1/sys/version-history',
    summary: 'List the versions of the server',
    access: { capability: 'list' },
    input: z.object({}),
    output: anything,
    failures: [],
    run: () => listVersions(),
  }),
  vaultRoute({
    id: 'encryption-key-read-rotation-configuration',
    method: 'GET',
    path: '/v1/sys/rotate/config',
    summary: 'Read when data keys are replaced by themselves',
    access: { capability: 'read' },
    input: z.object({}),
    output: anything,
    failures: [],
    run: () => readRotation(),
  }),
  vaultRoute({
    id: 'internal-ui-read-resultant-acl',
    method: 'GET',
    path: '/v1/sys/internal/ui/resultant-acl',
    summary: 'Read what the policies of the token come to',
    access: { capability: 'read' },
    input: z.object({}),
    output: anything,
    failures: ['invalid'],
    run: readResultantAcl,
  }),
  vaultRoute({
    id: 'plugins-reload-backends',
    method: 'POST',
    path: '/v1/sys/plugins/reload/backend',
    summary: 'Reload an engine; all are part of the program, so nothing happens',
    access: { capability: 'update', sudo: true },
    audit: ['plugin', 'mounts', 'scope'],
    input: z.object({
      plugin: text('').describe('Type of the engine.'),
      mounts: shortList([]).describe('Paths of its mounts.'),
      scope: text('').describe('Kept for clients that send it.'),
    }),
    output: undeclared,
    failures: ['invalid'],
    run: reloadPlugins,
  }),
  vaultRoute({
    id: 'plugins-catalog-list-plugins',
    method: 'GET',
    path: '/v1/sys/plugins/catalog',
    summary: 'List the engines that can be mounted',
    access: { capability: 'read' },
    input: z.object({}),
    output: anything,
    failures: [],
    run: () => listPlugins(),
  }),
];
