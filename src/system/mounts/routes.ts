import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { MountKind } from '../../app/mount.ts';
import { either, flat, nothing } from '../../app/output.ts';
import { type AnyRoute, type SetElsewhere, vaultRoute } from '../../app/route.ts';
import { type Failure, invalid } from '../../core/failure.ts';
import { text } from '../../core/fields.ts';
import { listedMountSchema, mountSchema, tuneSchema } from '../../mounts/description.ts';
import { mountPath } from './field-kinds.ts';
import { mountFields, OLD_NAMES, ownFields, settings, TUNED } from './fields.ts';
import {
  describeMounts,
  listVisibleMounts,
  readMount,
  readTune,
  readVisibleMount,
} from './listing.operations.ts';
import { enableMount, tuneMount } from './operations.ts';
import { readRemount, remount } from './remount.operations.ts';
import { disableMount } from './removal.operations.ts';

const path = text().describe('Where the engine is mounted, with or without a trailing slash.');
const rest = { path: /^[^/].*$/ };

const remountStatus = z.object({
  migration_id: z.string(),
  migration_info: z.object({
    source_mount: z.string(),
    target_mount: z.string(),
    status: z.string(),
  }),
});

const seen = z.record(z.string(), z.union([mountSchema, listedMountSchema]));
const visibleMounts = z.object({ secret: seen, auth: seen });

type Base = '/v1/sys/mounts' | '/v1/sys/auth' | '/v1/sys/mounts/auth';

function mountRoutes(kind: MountKind, base: Base, name: string): AnyRoute[] {
  return [
    vaultRoute({
      id: `${name}-list`,
      on_any_thread: true,
      method: 'GET',
      path: base,
      summary: kind === 'auth' ? 'List auth methods' : 'List secret engines',
      access: { capability: 'read' },
      input: z.object({}),
      output: flat(z.record(z.string(), mountSchema)),
      failures: [],
      run: (app) => describeMounts(app, kind),
    }),
    ...singleMountRoutes(kind, base, name),
  ];
}

/** What is done to one mount, wherever that is addressed. */
function singleMountRoutes(kind: MountKind, base: Base, name: string): AnyRoute[] {
  // Enabling and disabling ways to log in is a root-protected matter; secret engines are not.
  const sudo = kind === 'auth';
  // Known to clients for reading and tuning; what is more is done at `sys/auth` alone.
  const onlyTuned = base === '/v1/sys/mounts/auth';
  return [
    vaultRoute({
      id: `${name}-read`,
      on_any_thread: true,
      method: 'GET',
      path: `${base}/{path+}`,
      summary: 'Read a mount, or its tuning at `…/tune`',
      access: { capability: 'read' },
      path_forms: rest,
      sets_also: onlyTuned ? [{ path: '/v1/sys/auth/{path+}', fields: [], when: [] }] : [],
      input: z.object({ path }),
      output: either(flat(mountSchema), flat(tuneSchema)),
      failures: ['invalid'],
      run: (app, _caller, input) =>
        input.path.endsWith('/tune')
          ? readTune(app, { kind, path: input.path.slice(0, -'/tune'.length) })
          : readMount(app, { kind, path: input.path }),
    }),
    vaultRoute({
      id: `${name}-write`,
      method: 'POST',
      path: `${base}/{path+}`,
      summary: 'Mount an engine, or tune a mount at `…/tune`',
      access: { capability: 'update', sudo },
      path_forms: rest,
      audit: ['path', ...Object.keys(ownFields), ...Object.keys(settings)],
      audit_within: { config: Object.keys(settings) },
      old_names: OLD_NAMES,
      sets_also: onlyTuned ? [TUNED_AT_AUTH] : [tuning(base)],
      input: z.object({ path, ...mountFields }),
      output: nothing,
      failures: ['invalid', 'conflict'],
      run: (app, caller, input) => {
        if (onlyTuned && !input.path.endsWith('/tune')) throw refuseHere('mount', input.path);
        return writeMount(app, caller, kind, input);
      },
    }),
    vaultRoute({
      id: `${name}-disable`,
      method: 'DELETE',
      path: `${base}/{path+}`,
      summary: 'Unmount an engine and delete its data',
      access: { capability: 'delete', sudo },
      path_forms: rest,
      audit: ['path'],
      input: z.object({ path }),
      output: nothing,
      failures: ['invalid'],
      run: (app, caller, input) => {
        if (onlyTuned) throw refuseHere('unmount', input.path);
        return disableMount(app, caller, { kind, path: input.path });
      },
    }),
  ];
}

/** What is tuned beneath `sys/mounts/auth` is a way to log in, and denied as one. */
const TUNED_AT_AUTH: SetElsewhere = {
  path: '/v1/sys/auth/{path+}',
  fields: [...Object.keys(ownFields), ...Object.keys(settings)],
  when: [],
};

/** A new mount is given what a mount is tuned to. */
const tuning = (base: Base): SetElsewhere => ({
  path: `${base}/{path+}/tune`,
  fields: TUNED,
  within: 'config',
  isNew: true,
});

function refuseHere(what: 'mount' | 'unmount', path: string): Failure {
  const name = path.replace(/\/$/, '');
  return invalid(`cannot ${what} "auth/${name}/" here: use sys/auth/${name}`);
}

type MountInput = z.output<z.ZodObject<typeof mountFields>> & { path: string };

function writeMount(app: App, caller: Caller, kind: MountKind, input: MountInput) {
  if (input.path.endsWith('/tune')) {
    const target = input.path.slice(0, -'/tune'.length);
    return tuneMount(app, caller, { ...input, kind, path: target, config: input });
  }
  return enableMount(app, caller, {
    ...input,
    kind,
    type: input.type || (input.plugin_name ?? ''),
    description: input.description ?? '',
    options: input.options ?? (kind === 'auth' ? null : {}),
  });
}

export const mountSystemRoutes: AnyRoute[] = [
  ...mountRoutes('secret', '/v1/sys/mounts', 'mounts'),
  ...mountRoutes('auth', '/v1/sys/auth', 'auth'),
  ...singleMountRoutes('auth', '/v1/sys/mounts/auth', 'mounts-auth'),
  vaultRoute({
    id: 'remount',
    method: 'POST',
    path: '/v1/sys/remount',
    summary: 'Move a mount to another path',
    access: { capability: 'update', sudo: true },
    audit: ['from', 'to'],
    input: z.object({
      from: mountPath().describe('Where the mount is; with "auth/" before it for an auth method.'),
      to: mountPath().describe('Where it shall be.'),
    }),
    output: z.object({ migration_id: z.string() }),
    failures: ['invalid', 'conflict'],
    run: remount,
  }),
  vaultRoute({
    id: 'remount-status',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/remount/status/{id}',
    summary: 'Read how a move ended',
    access: { capability: 'read' },
    input: z.object({ id: text() }),
    output: remountStatus,
    failures: ['not_found'],
    run: (app, _caller, input) => readRemount(app, input),
  }),
  vaultRoute({
    id: 'internal-ui-list-enabled-visible-mounts',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/internal/ui/mounts',
    summary: 'List the mounts that the caller may see',
    access: 'public',
    identify: true,
    input: z.object({}),
    output: visibleMounts,
    failures: [],
    run: (app, caller) => listVisibleMounts(app, caller),
  }),
  vaultRoute({
    id: 'internal-ui-read-mount-information',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/internal/ui/mounts/{path+}',
    summary: 'Read the mount that a path belongs to',
    access: 'public',
    identify: true,
    path_forms: rest,
    input: z.object({ path }),
    output: mountSchema.extend({ path: z.string() }),
    failures: ['forbidden'],
    run: readVisibleMount,
  }),
];
