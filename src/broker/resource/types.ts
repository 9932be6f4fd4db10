import type { Action } from './actions.ts';

/** Every kind of resource that a grant can speak of. */
export type ResourceTypeName =
  | 'scope'
  | 'user'
  | 'group'
  | 'role'
  | 'auth-method'
  | 'account'
  | 'auth-token'
  | 'managed-group'
  | 'host-catalog'
  | 'host-set'
  | 'host'
  | 'target'
  | 'worker'
  | 'session'
  | 'session-recording'
  | 'credential-store'
  | 'credential-library'
  | 'credential'
  | 'storage-bucket'
  | 'policy'
  | 'billing'
  | 'alias';

export type ScopeType = 'global' | 'org' | 'project';

/** What is true of a resource type wherever it is met. */
interface ResourceType {
  /** First segment of its paths, e.g. `host-sets`. */
  plural: string;
  /** Id prefixes and the subtype that each stands for. */
  prefixes: Readonly<Record<string, string>>;
  /** The type that its items live in, when that is not a scope; grants can pin to it. */
  parent?: ResourceTypeName;
  /** Actions on one item, in the order in which they are listed to callers. */
  actions: readonly Action[];
  /** Actions on the collection. */
  collection: readonly Action[];
  /** Scopes that hold such items. */
  levels: readonly ScopeType[];
}

const CRUD = ['no-op', 'read', 'update', 'delete'] as const;
const MAKE_AND_LIST = ['create', 'list'] as const;
const EVERYWHERE = ['global', 'org', 'project'] as const;

/** The prefixes of new ids come first; old ones, still met in grants and requests, after them. */
export const RESOURCE_TYPES: Readonly<Record<ResourceTypeName, ResourceType>> = {
  scope: {
    plural: 'scopes',
    prefixes: { o: 'org', p: 'project' },
    actions: [...CRUD, 'attach-storage-policy', 'detach-storage-policy'],
    collection: [
      ...MAKE_AND_LIST,
      'list-keys',
      'rotate-keys',
      'list-key-version-destruction-jobs',
      'destroy-key-version',
    ],
    levels: EVERYWHERE,
  },
  user: {
    plural: 'users',
    prefixes: { u: 'user' },
    actions: [
      ...CRUD,
      'add-accounts',
      'set-accounts',
      'remove-accounts',
      'list-resolvable-aliases',
    ],
    collection: MAKE_AND_LIST,
    levels: ['global', 'org'],
  },
  group: {
    plural: 'groups',
    prefixes: { g: 'group' },
    actions: [...CRUD, 'add-members', 'set-members', 'remove-members'],
    collection: MAKE_AND_LIST,
    levels: EVERYWHERE,
  },
  role: {
    plural: 'roles',
    prefixes: { r: 'role' },
    actions: [
      ...CRUD,
      'add-principals',
      'set-principals',
      'remove-principals',
      'add-grants',
      'set-grants',
      'remove-grants',
      'add-grant-scopes',
      'set-grant-scopes',
      'remove-grant-scopes',
    ],
    collection: MAKE_AND_LIST,
    levels: EVERYWHERE,
  },
  'auth-method': {
    plural: 'auth-methods',
    prefixes: { ampw: 'password', amoidc: 'oidc', amldap: 'ldap' },
    actions: [...CRUD, 'authenticate', 'change-state'],
    collection: MAKE_AND_LIST,
    levels: ['global', 'org'],
  },
  account: {
    plural: 'accounts',
    prefixes: { acctpw: 'password', acctoidc: 'oidc', acctldap: 'ldap', apw: 'password' },
    parent: 'auth-method',
    actions: [...CRUD, 'set-password', 'change-password'],
    collection: MAKE_AND_LIST,
    levels: ['global', 'org'],
  },
  'managed-group': {
    plural: 'managed-groups',
    prefixes: { mgoidc: 'oidc', mgldap: 'ldap' },
    parent: 'auth-method',
    actions: CRUD,
    collection: MAKE_AND_LIST,
    levels: ['global', 'org'],
  },
  'auth-token': {
    plural: 'auth-tokens',
    prefixes: { at: 'token' },
    actions: ['no-op', 'read', 'read:self', 'delete', 'delete:self'],
    collection: ['list'],
    levels: ['global', 'org'],
  },
  'host-catalog': {
    plural: 'host-catalogs',
    prefixes: { hcst: 'static', hcplg: 'plugin', hc: 'plugin' },
    actions: CRUD,
    collection: MAKE_AND_LIST,
    levels: ['project'],
  },
  'host-set': {
    plural: 'host-sets',
    prefixes: { hsst: 'static', hsplg: 'plugin', hs: 'plugin' },
    parent: 'host-catalog',
    actions: [...CRUD, 'add-hosts', 'set-hosts', 'remove-hosts'],
    collection: MAKE_AND_LIST,
    levels: ['project'],
  },
  host: {
    plural: 'hosts',
    prefixes: { hst: 'static', hplg: 'plugin', h: 'plugin' },
    parent: 'host-catalog',
    actions: CRUD,
    collection: MAKE_AND_LIST,
    levels: ['project'],
  },
  'credential-store': {
    plural: 'credential-stores',
    prefixes: { csst: 'static', csvlt: 'vault', csca: 'authority', cs: 'static' },
    actions: CRUD,
    collection: MAKE_AND_LIST,
    levels: ['project'],
  },
  'credential-library': {
    plural: 'credential-libraries',
    prefixes: {
      clvlt: 'vault-generic',
      clvsclt: 'vault-ssh-certificate',
      clvllt: 'vault-ldap',
      clca: 'authority-certificate',
    },
    parent: 'credential-store',
    actions: CRUD,
    collection: MAKE_AND_LIST,
    levels: ['project'],
  },
  credential: {
    plural: 'credentials',
    prefixes: {
      credup: 'username_password',
      credupd: 'username_password_domain',
      credp: 'password',
      credspk: 'ssh_private_key',
      credjson: 'json',
      cred: 'username_password',
    },
    parent: 'credential-store',
    actions: CRUD,
    collection: MAKE_AND_LIST,
    levels: ['project'],
  },
  target: {
    plural: 'targets',
    prefixes: { ttcp: 'tcp', tssh: 'ssh', trdp: 'rdp' },
    actions: [
      ...CRUD,
      'add-host-sources',
      'set-host-sources',
      'remove-host-sources',
      'add-credential-sources',
      'set-credential-sources',
      'remove-credential-sources',
      'authorize-session',
    ],
    collection: MAKE_AND_LIST,
    levels: ['project'],
  },
  alias: {
    plural: 'aliases',
    prefixes: { alt: 'target' },
    actions: CRUD,
    collection: MAKE_AND_LIST,
    levels: ['global'],
  },
  session: {
    plural: 'sessions',
    prefixes: { s: 'session' },
    actions: ['no-op', 'read', 'read:self', 'cancel', 'cancel:self'],
    collection: ['list'],
    levels: ['project'],
  },
  worker: {
    plural: 'workers',
    prefixes: { w: 'worker' },
    actions: [...CRUD, 'add-worker-tags', 'set-worker-tags', 'remove-worker-tags'],
    collection: [
      'create:controller-led',
      'create:worker-led',
      'list',
      'read-certificate-authority',
      'reinitialize-certificate-authority',
    ],
    levels: ['global'],
  },
  'session-recording': {
    plural: 'session-recordings',
    prefixes: { sr: 'session-recording' },
    actions: ['no-op', 'read', 'download', 'delete', 'reapply-storage-policy'],
    collection: ['list'],
    levels: ['global', 'org'],
  },
  'storage-bucket': {
    plural: 'storage-buckets',
    prefixes: { sb: 'plugin' },
    actions: CRUD,
    collection: MAKE_AND_LIST,
    levels: ['global', 'org'],
  },
  policy: {
    plural: 'policies',
    prefixes: { pst: 'storage' },
    actions: CRUD,
    collection: MAKE_AND_LIST,
    levels: ['global', 'org'],
  },
  billing: {
    plural: 'billing',
    prefixes: {},
    actions: [],
    collection: ['monthly-active-users'],
    levels: ['global'],
  },
};

const BY_PLURAL: ReadonlyMap<string, ResourceTypeName> = new Map(
  (Object.keys(RESOURCE_TYPES) as ResourceTypeName[]).map((type) => [
    RESOURCE_TYPES[type].plural,
    type,
  ]),
);

export function typeOfPlural(plural: string): ResourceTypeName | undefined {
  return BY_PLURAL.get(plural);
}

const CHILDREN = Map.groupBy(
  Object.keys(RESOURCE_TYPES) as ResourceTypeName[],
  (type) => RESOURCE_TYPES[type].parent,
);

/** Types whose items lie in those of this one: their collections appear beside an item. */
export function listChildTypes(type: ResourceTypeName): readonly ResourceTypeName[] {
  return CHILDREN.get(type) ?? [];
}
