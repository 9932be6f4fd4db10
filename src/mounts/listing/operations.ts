import { type Acl, judgeAccess } from '../../access/acl.ts';
import type { Caller } from '../../access/caller.ts';
import { hasAccessBeneath } from '../../access/grants-beneath.ts';
import { whileThere } from '../../access/presence.ts';
import { RuleWalk } from '../../access/rule-walk.ts';
import type { App } from '../../app.ts';
import { Breath } from '../../core/breath.ts';
import { Failure } from '../../core/failure.ts';
import type { Answer } from '../../http/route.ts';
import {
  effectiveLeaseTtls,
  fullPath,
  type Mount,
  type MountKind,
  type Place,
  placeOf,
} from '../mount.ts';
import { readMounts } from '../operations.ts';
import { describeMount, LISTS, refuseToTune } from '../rules.ts';
import { presentMounts, type Said } from './answer.ts';

async function findByPath(app: App, input: Place): Promise<Mount | undefined> {
  const mount = (await readMounts(app)).get(fullPath(placeOf(input)));
  // `auth/up` as the path of a secret engine is not the way to log in that is mounted at `up`.
  return mount?.kind === input.kind ? mount : undefined;
}

/** All mounts of a kind, as `sys/mounts` and `sys/auth` answer them. */
export async function describeMounts(app: App, kind: MountKind): Promise<Answer> {
  const all = [...(await readMounts(app)).values()];
  const said = all.filter((mount) => mount.kind === kind).map(saidOf(describeMount));
  return { ...presentMounts(said), flat: true };
}

/** It is said when it is written: of many mounts that is not done at once. */
const saidOf =
  (describe: (mount: Mount) => object) =>
  (mount: Mount): Said[number] => [mount.path, () => describe(mount)];

export async function readMount(app: App, input: Place): Promise<Answer> {
  const mount = await findByPath(app, input);
  if (!mount) {
    const what = input.kind === 'auth' ? 'No auth engine at' : 'No secret engine mount at';
    throw new Failure('invalid', `${what} ${input.path.replace(/\/$/, '')}/`);
  }
  return { data: describeMount(mount), flat: true };
}

export async function readTune(app: App, input: Place): Promise<Answer> {
  const mount = await findByPath(app, input);
  if (!mount) throw refuseToTune(input);
  const { default_ttl, max_ttl } = effectiveLeaseTtls(mount.config);
  const { config } = mount;
  const lists = Object.fromEntries(
    LISTS.filter((name) => config[name].length > 0).map((name) => [name, config[name]]),
  );
  return {
    flat: true,
    data: {
      description: mount.description,
      default_lease_ttl: default_ttl,
      max_lease_ttl: max_ttl,
      force_no_cache: config.force_no_cache,
      ...(mount.options && Object.keys(mount.options).length > 0 ? { options: mount.options } : {}),
      ...(mount.kind === 'auth' ? { token_type: config.token_type || 'default-service' } : {}),
      ...(config.listing_visibility === ''
        ? {}
        : { listing_visibility: config.listing_visibility }),
      ...lists,
    },
  };
}

/** What the caller may see of the mounts; without a token, those listed for everybody. */
export async function listVisibleMounts(app: App, caller: Caller): Promise<Answer> {
  if (!caller.acl && caller.wrap_ttl === undefined) {
    return { data: {}, written_data: await readListed(app) };
  }
  const groups = await whileThere(caller, (requireThere) =>
    groupVisible(app, caller.acl, new RuleWalk(requireThere)),
  );
  return presentMounts(groups);
}

async function groupVisible(
  app: App,
  acl: Acl | undefined,
  walk: RuleWalk,
): Promise<Record<MountKind, Said[number][]>> {
  const groups: Record<MountKind, Said[number][]> = { secret: [], auth: [] };
  const breath = new Breath();
  for (const mount of (await readMounts(app)).values()) {
    await breath.take();
    if (acl && (await hasAccessBeneath(acl, fullPath(mount), walk))) {
      groups[mount.kind].push(saidOf(describeMount)(mount));
    } else if (mount.config.listing_visibility === 'unauth') {
      groups[mount.kind].push(saidOf(describeListed)(mount));
    }
  }
  return groups;
}

const describeListed = ({ type, description, options }: Mount) => ({ type, description, options });

/** What everybody may see. It may have megabytes, and anybody asks as often as they like: it is written once. */
export function readListed(app: App): Promise<Uint8Array> {
  return app.cached('mounts that everybody sees', () => writeListed(app), ['mounts']);
}

async function writeListed(app: App): Promise<Uint8Array> {
  const groups: Record<MountKind, string[]> = { secret: [], auth: [] };
  const breath = new Breath();
  for (const mount of (await readMounts(app)).values()) {
    await breath.take();
    if (mount.config.listing_visibility !== 'unauth') continue;
    const about = JSON.stringify(describeListed(mount));
    groups[mount.kind].push(`${JSON.stringify(mount.path)}:${about}`);
  }
  return Buffer.from(`"secret":{${groups.secret.join()}},"auth":{${groups.auth.join()}}`);
}

export async function readVisibleMount(
  app: App,
  caller: Caller,
  input: { path: string },
): Promise<Answer> {
  const wanted = input.path.replace(/\/$/, '');
  const walk = new RuleWalk();
  for (const [path, mount] of await readMounts(app)) {
    if (!`${wanted}/`.startsWith(path)) continue;
    const verdict =
      caller.acl &&
      (await judgeAccess(caller.acl, { path: wanted, operation: 'read', sudoRequired: false }));
    if (verdict?.allowed || (caller.acl && (await hasAccessBeneath(caller.acl, path, walk)))) {
      return { data: { ...describeMount(mount), path: mount.path } };
    }
  }
  throw new Failure(
    'forbidden',
    `preflight capability check returned 403, please ensure client's policies grant access to path "${wanted}/"`,
  );
}
