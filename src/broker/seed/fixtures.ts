import { type SeedSettings, secondSuffix } from '../../config/seed.ts';
import type { AnyKind, ItemOf } from '../resource/handler.ts';

/** Types of what a development server begins with. */
export type SeedType =
  | 'scope'
  | 'auth-method'
  | 'user'
  | 'account'
  | 'host-catalog'
  | 'host'
  | 'host-set'
  | 'target'
  | 'credential-store'
  | 'credential';

/** Something that a development server begins with. */
export interface SeedThing {
  type: SeedType;
  subtype: string;
  /** Absent: an id of its own. */
  id?: string;
  /** What it lies in: a scope, or the catalog, store or auth method that holds it. */
  container_id: string;
  item: ItemOf<AnyKind>;
  /** The user that an account stands for. */
  owner_id?: string;
  /** What the API cannot say of it. */
  body?: object;
}

/** Ids that the seed data of everybody's development server has. */
interface SeedIds {
  auth_method: string;
  admin: string;
  admin_account: string;
  /** Of the plain user, if there is one. */
  user: string;
  user_account: string;
  org: string;
  project: string;
  host_catalog: string;
  host: string;
  host_set: string;
  target: string;
  second_target: string;
}

export function seedIds(id_suffix: string): SeedIds {
  const second = secondSuffix(id_suffix);
  return {
    auth_method: `ampw_${id_suffix}`,
    admin: `u_${id_suffix}`,
    admin_account: `acctpw_${id_suffix}`,
    user: `u_${second}`,
    user_account: `acctpw_${second}`,
    org: `o_${id_suffix}`,
    project: `p_${id_suffix}`,
    host_catalog: `hcst_${id_suffix}`,
    host: `hst_${id_suffix}`,
    host_set: `hsst_${id_suffix}`,
    target: `ttcp_${id_suffix}`,
    second_target: `ttcp_${second}`,
  };
}

/** Scopes, who can log in, and how: made before everything else. */
export function listPeople(settings: SeedSettings): SeedThing[] {
  const ids = seedIds(settings.id_suffix);
  const scope = (id: string, above: string, kind: 'org' | 'project'): SeedThing => ({
    type: 'scope',
    subtype: kind,
    id,
    container_id: above,
    item: {
      name: `Generated ${kind} scope`,
      description: `Provides an initial ${kind} scope`,
    },
  });
  const things: SeedThing[] = [
    scope(ids.org, 'global', 'org'),
    scope(ids.project, ids.org, 'project'),
    {
      type: 'auth-method',
      subtype: 'password',
      id: ids.auth_method,
      container_id: 'global',
      item: {
        name: 'Generated global scope initial password auth method',
        description: 'Provides initial administrative and unprivileged authentication',
      },
    },
  ];
  const person = (
    user_id: string,
    account_id: string,
    item: ItemOf<AnyKind>,
    logIn: { login_name: string; password: string },
    policies: readonly string[],
  ): SeedThing[] => [
    {
      type: 'user',
      subtype: 'user',
      id: user_id,
      container_id: 'global',
      item,
      body: { entity_id: '', policies },
    },
    {
      type: 'account',
      subtype: 'password',
      id: account_id,
      container_id: ids.auth_method,
      item: { attributes: logIn },
      owner_id: user_id,
    },
  ];
  things.push(
    ...person(
      ids.admin,
      ids.admin_account,
      { name: 'admin', description: 'Initial admin user within the "global" scope' },
      { login_name: settings.login_name, password: settings.password },
      ['root'],
    ),
  );
  if (settings.unprivileged_login_name === '') return things;
  things.push(
    ...person(
      ids.user,
      ids.user_account,
      { name: 'user', description: 'Initial unprivileged user' },
      { login_name: settings.unprivileged_login_name, password: settings.unprivileged_password },
      [],
    ),
  );
  return things;
}

/** Ids that each development server makes for itself: of a target, and of the credential that is brokered to its users. */
export interface OwnIds {
  postgres: string;
  credential_store: string;
  credential: string;
}

/** What can be reached, and with what. */
export function listReachable(settings: SeedSettings, own: OwnIds): SeedThing[] {
  const ids = seedIds(settings.id_suffix);
  return [...listHosts(ids), ...listTargets(ids, own), ...listCredentials(ids, own)];
}

const listHosts = (ids: SeedIds): SeedThing[] => [
  {
    type: 'host-catalog',
    subtype: 'static',
    id: ids.host_catalog,
    container_id: ids.project,
    item: {
      name: 'Generated host catalog',
      description: 'Provides an initial host catalog',
    },
  },
  {
    type: 'host',
    subtype: 'static',
    id: ids.host,
    container_id: ids.host_catalog,
    item: {
      name: 'Generated host',
      description: 'Provides an initial host',
      attributes: { address: 'localhost' },
    },
  },
  {
    type: 'host-set',
    subtype: 'static',
    id: ids.host_set,
    container_id: ids.host_catalog,
    item: {
      name: 'Generated host set',
      description: 'Provides an initial host set',
    },
  },
];

function listTargets(ids: SeedIds, own: OwnIds): SeedThing[] {
  const target = (port: number, item: ItemOf<AnyKind>): SeedThing => ({
    type: 'target',
    subtype: 'tcp',
    container_id: ids.project,
    item: { ...item, attributes: { default_port: port } },
  });
  const aliased = (alias: string, port: number, item: ItemOf<AnyKind>): SeedThing =>
    target(port, { ...item, with_aliases: [{ value: alias, scope_id: 'global' }] });
  return [
    {
      ...target(22, {
        name: 'Generated target with a direct address',
        description: 'Provides an initial target using an address',
        address: '127.0.0.1',
      }),
      id: ids.target,
    },
    {
      ...target(22, {
        name: 'Generated target using host sources',
        description: 'Provides a target using host sources',
      }),
      id: ids.second_target,
    },
    aliased('ssh.boundary.dev', 22, {
      name: 'Generated localhost ssh target with an alias',
      description: 'Provides an initial localhost target to SSH to using an alias',
      address: '127.0.0.1',
    }),
    {
      ...aliased('postgres.boundary.dev', 5432, {
        name: 'Generated local postgres target with alias',
        description: 'Provides a local postgres target using aliasing',
        address: '127.0.0.1',
      }),
      id: own.postgres,
    },
    aliased('www.hashicorp.com', 443, {
      name: 'www.hashicorp.com',
      description:
        'Provides an initial web target using an address. Only HTTPS is supported, on port 443',
      address: 'www.hashicorp.com',
    }),
  ];
}

const listCredentials = (ids: SeedIds, own: OwnIds): SeedThing[] => [
  {
    type: 'credential-store',
    subtype: 'static',
    id: own.credential_store,
    container_id: ids.project,
    item: {
      name: 'Generated static credential store',
      description: 'Provides an initial static credential store',
    },
  },
  {
    type: 'credential',
    subtype: 'username_password',
    id: own.credential,
    container_id: own.credential_store,
    item: {
      name: 'Generated postgres credential',
      description: 'Provides an initial username and password for the local postgres target',
      attributes: { username: 'postgres', password: 'password' },
    },
  },
];
