import { z } from 'zod';
import { flat } from '../app/output.ts';
import { type AnyRoute, vaultRoute } from '../app/route.ts';
import { shortList, text } from '../core/fields.ts';
import {
  listPlugins,
  listVersions,
  readResultantAcl,
  readRotation,
  reloadPlugins,
} from './operations.ts';

const versions = z.object({
  keys: z.array(z.string()),
  key_info: z.record(
    z.string(),
    z.object({
      build_date: z.string(),
      previous_version: z.null(),
      timestamp_installed: z.string(),
    }),
  ),
});

const rotation = z.object({
  enabled: z.boolean(),
  interval: z.int().describe('Seconds.'),
  max_operations: z.int(),
});

const granted = z
  .record(z.string(), z.object({ capabilities: z.array(z.string()) }))
  .describe('By path.');
const resultantAcl = z.object({
  root: z.boolean(),
  exact_paths: granted,
  glob_paths: granted,
  chroot_namespace: z.string(),
});

const plugins = z.object({
  auth: z.array(z.string()),
  database: z.array(z.string()),
  secret: z.array(z.string()),
  detailed: z.array(
    z.object({
      builtin: z.boolean(),
      deprecation_status: z.string(),
      name: z.string(),
      type: z.enum(['auth', 'secret']),
      version: z.string(),
    }),
  ),
});

/** Endpoints under `sys/` that clients and user interfaces ask for and that change nothing. */
export const serverRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'version-history',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/sys/version-history',
    summary: 'List the versions of the server',
    access: { capability: 'list' },
    input: z.object({}),
    output: versions,
    failures: [],
    run: () => listVersions(),
  }),
  vaultRoute({
    id: 'encryption-key-read-rotation-configuration',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/rotate/config',
    summary: 'Read when data keys are replaced by themselves',
    access: { capability: 'read' },
    input: z.object({}),
    output: flat(rotation),
    failures: [],
    run: () => readRotation(),
  }),
  vaultRoute({
    id: 'internal-ui-read-resultant-acl',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/internal/ui/resultant-acl',
    summary: 'Read what the policies of the token come to',
    access: { capability: 'read' },
    input: z.object({}),
    output: resultantAcl,
    failures: ['invalid'],
    run: readResultantAcl,
  }),
  vaultRoute({
    id: 'plugins-reload-backends',
    on_any_thread: true,
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
    output: z.object({ reload_id: z.string() }),
    failures: ['invalid'],
    run: reloadPlugins,
  }),
  vaultRoute({
    id: 'plugins-catalog-list-plugins',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/plugins/catalog',
    summary: 'List the engines that can be mounted',
    access: { capability: 'read' },
    input: z.object({}),
    output: plugins,
    failures: [],
    run: () => listPlugins(),
  }),
];
