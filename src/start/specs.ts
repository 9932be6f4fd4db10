import { z } from 'zod';
import { askerOf } from '../access/concurrency/operations.ts';
import type { Acl } from '../acl/acl.ts';
import { listCapabilities } from '../acl/grants.ts';
import { hasAccessBeneath } from '../acl/grants-beneath.ts';
import { RuleWalk } from '../acl/rule-walk.ts';
import { type App, perApp } from '../app/app.ts';
import type { Caller } from '../app/caller.ts';
import { fullPath, type Mount } from '../app/mount.ts';
import { type BytesResult, bytes } from '../app/output.ts';
import { type AnyRoute, vaultRoute } from '../app/route.ts';
import type { AnyBoundaryRoute } from '../broker/resource/route.ts';
import { Breath } from '../core/fairness/breath.ts';
import { flag, text } from '../core/fields.ts';
import { BOUNDARY_STYLE } from '../http/boundary/wire.ts';
import type { DocumentedApi } from '../http/documented-api.ts';
import { draftInTurns, writeDrafted } from '../http/drafting.ts';
import { KeptDocuments } from '../http/kept-documents.ts';
import { Draft, documentedPath } from '../http/openapi.ts';
import { VAULT_STYLE } from '../http/vault/documented.ts';
import { canSee } from '../http/vault/visible-mounts.ts';
import { readMounts } from '../mounts/operations.ts';

/** Every route that is declared, by where it is found. */
export interface DeclaredRoutes {
  system: readonly AnyRoute[];
  secret: Readonly<Record<string, readonly AnyRoute[]>>;
  auth: Readonly<Record<string, readonly AnyRoute[]>>;
  broker: readonly AnyBoundaryRoute[];
}

/** @param declared asked for when a request comes: these routes are themselves among them */
export function specRoutes(declared: () => DeclaredRoutes): AnyRoute[] {
  return [
    vaultRoute({
      id: 'internal-generate-open-api-document',
      method: 'GET',
      path: '/v1/sys/internal/specs/openapi',
      summary: 'Describe the API as an OpenAPI document',
      access: 'public',
      identify: true,
      input: z.object({
        generic_mount_paths: flag(false).describe(
          'Use parameters such as {pki_mount_path} in place of where engines are mounted.',
        ),
        context: text('').describe('Kept for clients that send it.'),
      }),
      output: bytes('application/json'),
      failures: ['invalid', 'rate_limited'],
      run: (app, caller, input) => describeApi(app, caller, declared(), input.generic_mount_paths),
    }),
  ];
}

const documentsOf = perApp(() => new KeptDocuments());

/** Where there are more mounts each engine is described once: the document has 39 kB of each mount of a CA. */
const MOST_DESCRIBED = 100;

/**
 * The operations that the caller could be permitted: all of them for a root token; without a
 * token, the public ones of the server itself and of mounts that are listed to everybody.
 */
async function describeApi(
  app: App,
  caller: Caller,
  declared: DeclaredRoutes,
  generic: boolean,
): Promise<BytesResult> {
  const mounts = await readMounts(app);
  const once = generic || mounts.size > MOST_DESCRIBED;
  const document = await documentsOf(app).read(
    { mounts, acl: caller.acl, form: once ? 'generic' : 'mounted', asker: askerOf(caller) },
    () => drawUp(caller.acl, declared, [...mounts.values()], once),
  );
  return { bytes: document };
}

async function drawUp(
  acl: Acl | undefined,
  declared: DeclaredRoutes,
  mounts: readonly Mount[],
  generic: boolean,
): Promise<Uint8Array> {
  const apis = generic ? listGenericApis(declared, mounts) : listMountedApis(declared, mounts);
  const draft = new Draft();
  const breath = new Breath();
  const walk = new RuleWalk();
  // Of thousands of mounts that are described as one, each adds only what those before it could not show.
  const left = new Map<string, readonly AnyRoute[]>();
  for (const { mount, acl_path, ...api } of apis) {
    await breath.take();
    const wanted = left.get(api.at) ?? api.routes;
    if (wanted.length === 0) continue;
    if (mount !== undefined && !(await canSee(acl, mount, walk))) continue;
    const routes: AnyRoute[] = [];
    for (const route of wanted) {
      const isShown =
        route.access === 'public' || (await mayUse(acl, route, { ...api, at: acl_path }, walk));
      if (isShown) routes.push(route);
    }
    const shown = new Set(routes);
    left.set(
      api.at,
      wanted.filter((route) => !shown.has(route)),
    );
    await draftInTurns(draft, { ...api, routes, all: api.routes });
  }
  // Of the broker's endpoints only its grants can tell: whoever is known may read of all of them.
  if (acl) await draftInTurns(draft, brokerApi(declared));
  return writeDrafted(draft);
}

interface MountedApi extends Omit<DocumentedApi, 'routes'> {
  routes: readonly AnyRoute[];
  /** Undefined for what is always there. */
  mount: Mount | undefined;
  /** What policies have in the place of `at`. */
  acl_path: string;
}

/** Every engine once for each of its mounts, and where it is mounted. */
function listMountedApis(declared: DeclaredRoutes, mounts: readonly Mount[]): MountedApi[] {
  const twins = Map.groupBy(mounts, ({ kind, type }) => `${kind} ${type}`);
  const isTwin = ({ kind, type }: Mount): boolean =>
    (twins.get(`${kind} ${type}`)?.length ?? 0) > 1;
  const engines = mounts.flatMap((mount) => {
    const routes = (mount.kind === 'auth' ? declared.auth : declared.secret)[mount.type];
    if (!routes) return [];
    const at = `/${fullPath(mount).slice(0, -1)}`;
    const id_prefix = isTwin(mount) ? `${mount.path.slice(0, -1).replaceAll('/', '-')}-` : '';
    return [{ ...engineApi(mount.kind, routes), at, acl_path: at, id_prefix, mount }];
  });
  return [systemApi(declared), ...engines];
}

/** Every mounted engine once, with a parameter for where it is mounted. */
function listGenericApis(declared: DeclaredRoutes, mounts: readonly Mount[]): MountedApi[] {
  const engines = mounts.flatMap((mount) => {
    const routes = (mount.kind === 'auth' ? declared.auth : declared.secret)[mount.type];
    return routes
      ? [{ ...genericApi(mount, routes), mount, acl_path: `/${fullPath(mount).slice(0, -1)}` }]
      : [];
  });
  return [systemApi(declared), ...engines];
}

/** One engine, wherever it is mounted. */
function genericApi(
  { kind, type }: Pick<Mount, 'kind' | 'type'>,
  routes: readonly AnyRoute[],
): Omit<MountedApi, 'mount' | 'acl_path'> {
  const base = engineApi(kind, routes);
  if (type === 'identity' || type === 'token') {
    return { ...base, at: kind === 'auth' ? `/auth/${type}` : `/${type}` };
  }
  const name = `${type}_mount_path`;
  return {
    ...base,
    at: kind === 'auth' ? `/auth/{${name}}` : `/{${name}}`,
    mount_parameter: { name, by_default: type },
  };
}

function engineApi(
  kind: Mount['kind'],
  routes: readonly AnyRoute[],
): Omit<MountedApi, 'at' | 'mount' | 'acl_path'> {
  return kind === 'auth'
    ? { tag: 'auth', style: VAULT_STYLE, prefix: '/v1/auth/{mount}', routes }
    : { tag: 'secrets', style: VAULT_STYLE, prefix: '/v1/{mount}', routes };
}

function systemApi(declared: Pick<DeclaredRoutes, 'system'>): MountedApi {
  return {
    tag: 'system',
    style: VAULT_STYLE,
    prefix: '/v1',
    at: '',
    acl_path: '',
    mount: undefined,
    routes: declared.system,
  };
}

/** Every engine once, wherever it is mounted, the server itself and the broker. */
export function listWholeApi(declared: DeclaredRoutes): DocumentedApi[] {
  const { secret, auth } = declared;
  return [
    systemApi(declared),
    ...Object.entries(secret).map(([type, routes]) => genericApi({ kind: 'secret', type }, routes)),
    ...Object.entries(auth).map(([type, routes]) => genericApi({ kind: 'auth', type }, routes)),
    brokerApi(declared),
  ];
}

/** The access broker's API, which is mounted nowhere. */
function brokerApi(declared: Pick<DeclaredRoutes, 'broker'>): DocumentedApi {
  return { tag: 'broker', style: BOUNDARY_STYLE, prefix: '/v1', at: '', routes: declared.broker };
}

/** Whether some path of this route could be permitted; which one, only the request can tell. */
async function mayUse(
  acl: Acl | undefined,
  route: AnyRoute,
  api: Pick<DocumentedApi, 'prefix' | 'at'>,
  walk: RuleWalk,
): Promise<boolean> {
  if (!acl || route.access === 'public') return false;
  const path = documentedPath(api, route).slice(1);
  const open = path.indexOf('{');
  if (open >= 0) {
    return hasAccessBeneath(acl, path.slice(0, path.lastIndexOf('/', open) + 1), walk);
  }
  const granted = await listCapabilities(acl, path, walk);
  if (granted.includes('root')) return true;
  if (route.access.sudo && !granted.includes('sudo')) return false;
  return (
    granted.includes(route.access.capability) ||
    (route.access.exists !== undefined && granted.includes('create'))
  );
}
