// What the client's command line asks for, command by command, in an order in which each finds
// what it needs. Written down from what the client was seen to send; `test/long/broker-cli.test.ts`
// sends it again.

/** One request of a command, and what its answer must be like. */
export interface Ask {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Behind `/v1/`. `<name>` stands for an id that an earlier answer brought. */
  path: string;
  body?: Readonly<Record<string, unknown>>;
  /** Of the answer; 200 unless told. */
  status?: number;
  /** Name in `SHAPES` of the answer, or of the items of a list. */
  shape?: string;
  lists?: boolean;
  /** Keys beyond those of the shape. */
  with?: string;
  /** The id of the answer is kept under this name. */
  saves?: string;
  /** Sends the version that the request before was answered with. */
  versioned?: boolean;
}

/** A command, as it is typed, and what it asks for. */
export interface Step {
  types: string;
  as?: 'admin' | 'user' | 'nobody';
  asks: readonly Ask[];
}

const EVERY = 'id created_time updated_time version authorized_actions[]';
const GLOBAL = 'scope.id scope.type scope.name scope.description';
const PROJECT = `${GLOBAL} scope.parent_scope_id`;

/** Keys of answers: those that must be there, and those that may. */
export const SHAPES: Readonly<Record<string, { needs: string; may?: string }>> = {
  scope: {
    needs: `${EVERY} scope_id name type scope.id scope.type scope.name authorized_collection_actions{}`,
    may: 'description scope.description scope.parent_scope_id primary_auth_method_id',
  },
  'auth-method': {
    needs: `${EVERY} ${GLOBAL} scope_id name type attributes.min_login_name_length attributes.min_password_length authorized_collection_actions{}`,
    may: 'description is_primary',
  },
  'auth-token': {
    needs: `id created_time updated_time authorized_actions[] ${GLOBAL} scope_id account_id auth_method_id user_id approximate_last_used_time expiration_time`,
  },
  account: {
    needs: `${EVERY} ${GLOBAL} auth_method_id type attributes.login_name`,
    may: 'name description',
  },
  user: {
    needs: `${EVERY} ${GLOBAL} scope_id name`,
    may: 'description login_name primary_account_id account_ids[] accounts[].id accounts[].scope_id',
  },
  group: {
    needs: `${EVERY} ${GLOBAL} scope_id name`,
    may: 'description member_ids[] members[].id members[].scope_id',
  },
  role: {
    needs: `${EVERY} ${PROJECT} scope_id name`,
    may: 'description grant_scope_ids[] grant_strings[] grants[].canonical grants[].json.actions[] grants[].json.ids[] grants[].json.type grants[].raw principal_ids[] principals[].id principals[].scope_id principals[].type',
  },
  target: {
    needs: `${EVERY} ${PROJECT} scope_id name type address attributes.default_port session_max_seconds session_connection_limit`,
    may: 'description aliases[].id aliases[].value host_source_ids[] host_sources[].id host_sources[].host_catalog_id brokered_credential_source_ids[] brokered_credential_sources[].id brokered_credential_sources[].credential_store_id',
  },
  'target in a list': {
    needs: `${EVERY} ${PROJECT} scope_id name type address attributes.default_port session_max_seconds session_connection_limit`,
    may: 'description',
  },
  alias: {
    needs: `${EVERY} ${GLOBAL} scope_id type value`,
    may: 'description destination_id attributes.authorize_session_arguments.host_id',
  },
  'resolvable alias': { needs: 'id created_time updated_time type value destination_id' },
  'host-catalog': {
    needs: `${EVERY} ${PROJECT} scope_id name type authorized_collection_actions{}`,
    may: 'description',
  },
  host: {
    needs: `${EVERY} ${PROJECT} host_catalog_id name type attributes.address`,
    may: 'description host_set_ids[]',
  },
  'host-set': {
    needs: `${EVERY} ${PROJECT} host_catalog_id name type`,
    may: 'description host_ids[]',
  },
  'credential-store': {
    needs: `${EVERY} ${PROJECT} scope_id name type authorized_collection_actions{}`,
    may: 'description',
  },
  credential: {
    needs: `${EVERY} ${PROJECT} credential_store_id name type`,
    may: 'description attributes.username attributes.domain attributes.password_hmac attributes.private_key_hmac attributes.object_hmac',
  },
  session: {
    needs: `${EVERY} ${PROJECT} scope_id type auth_token_id user_id target_id endpoint certificate expiration_time status states[].status states[].start_time`,
    may: 'states[].end_time termination_reason host_id host_set_id',
  },
  'authorized session': {
    needs: `session_id target_id user_id type authorization_token connection_limit endpoint endpoint_port expiration created_time ${PROJECT}`,
    may: 'host_id host_set_id',
  },
  worker: {
    needs: `${EVERY} ${GLOBAL} scope_id type active_connection_count local_storage_state`,
    may: 'name description address release_version last_status_time canonical_tags{} config_tags{} api_tags{}',
  },
  'worker certificates': {
    needs: 'certs[].id certs[].not_after_time certs[].not_before_time certs[].public_key_sha256',
  },
  'active users': { needs: 'start_time end_time', may: 'count' },
  // There are none yet, whose items could be looked at.
  policy: { needs: `${EVERY} ${GLOBAL} scope_id type` },
  'storage-bucket': { needs: `${EVERY} ${GLOBAL} scope_id type bucket_name` },
  'session-recording': { needs: 'id created_time updated_time session_id storage_bucket_id state' },
};

const get = (path: string, shape: string, more: Partial<Ask> = {}): Ask => ({
  method: 'GET',
  path,
  shape,
  ...more,
});
const list = (path: string, shape: string): Ask => get(path, shape, { lists: true });
const create = (path: string, saves: string, shape: string, body: Ask['body']): Ask => ({
  method: 'POST',
  path,
  saves,
  shape,
  ...(body ? { body } : {}),
});
/** Everything that changes an item reads it first, for its version. */
const change = (path: string, shape: string, body: Ask['body'], more: Partial<Ask> = {}): Ask[] => [
  get(path, shape),
  { method: 'PATCH', path, shape, versioned: true, ...more, ...(body ? { body } : {}) },
];
const verb = (path: string, name: string, shape: string, body: Ask['body'], more = ''): Ask[] => [
  get(path, shape),
  {
    method: 'POST',
    path: `${path}:${name}`,
    shape,
    versioned: true,
    with: more,
    ...(body ? { body } : {}),
  },
];
const remove = (path: string): Ask => ({ method: 'DELETE', path, status: 204 });
const refused = (method: Ask['method'], path: string, status: number): Ask => ({
  method,
  path,
  status,
});
const authorize = (path: string, body: Ask['body'] = {}, more = ''): Ask => ({
  method: 'POST',
  path: `targets/${path}:authorize-session`,
  shape: 'authorized session',
  saves: 's',
  with: more,
  body,
});
const step = (types: string, ...asks: Ask[]): Step => ({ types, asks });
const logIn = (password: string, status = 200): Ask => ({
  method: 'POST',
  path: 'auth-methods/ampw_1234567890:authenticate',
  status,
  body: { command: 'login', attributes: { login_name: 'admin', password } },
});

const ORIGINAL = 'p_1234567890';
const SOURCES = 'host_source_ids[] host_sources[].id host_sources[].host_catalog_id';
const BROKERED =
  'brokered_credential_source_ids[] brokered_credential_sources[].id brokered_credential_sources[].credential_store_id';
const SECRET =
  'credentials[].credential_source.id credentials[].credential_source.name credentials[].credential_source.credential_store_id credentials[].credential_source.type credentials[].credential_source.credential_type credentials[].secret.raw';
const fieldsOf = (...names: string[]): string =>
  names
    .map((name) => `credentials[].credential.${name} credentials[].secret.decoded.${name}`)
    .join(' ');

/** A key that protects nothing. */
export const WALK_SSH_KEY = 'ssh key';

export const CLI_WALK: readonly Step[] = [
  // Logging in.
  {
    ...step(
      'authenticate password -login-name admin',
      { method: 'GET', path: 'auth-methods?scope_id=global' },
      logIn('password'),
    ),
    as: 'nobody',
  },
  {
    ...step('authenticate password, with a wrong one', logIn('wrong password', 401)),
    as: 'nobody',
  },
  step('auth-methods list', list('auth-methods?scope_id=global', 'auth-method')),
  step(
    'auth-methods read',
    get('auth-methods/ampw_1234567890', 'auth-method', { with: 'is_primary' }),
  ),
  step('auth-tokens list', list('auth-tokens?scope_id=global', 'auth-token')),
  step('auth-tokens read -id self', get('auth-tokens/<self>', 'auth-token')),

  // Scopes.
  step('scopes list', list('scopes?scope_id=global', 'scope')),
  step('scopes list -recursive', list('scopes?recursive=true&scope_id=global', 'scope')),
  step('scopes read', get(`scopes/${ORIGINAL}`, 'scope')),
  step(
    'scopes create -scope-id global',
    create('scopes', 'o', 'scope', { scope_id: 'global', name: 'walkorg', description: 'd' }),
  ),
  step(
    'scopes create -skip-default-role-creation',
    create('scopes?skip_default_role_creation=true', 'p', 'scope', {
      scope_id: '<o>',
      name: 'walkproj',
    }),
  ),
  step('scopes update', ...change('scopes/<p>', 'scope', { description: 'new' })),

  // Targets, and what they take hosts from.
  step('targets list', list(`targets?scope_id=${ORIGINAL}`, 'target in a list')),
  step(
    'targets list -recursive',
    list('targets?recursive=true&scope_id=global', 'target in a list'),
  ),
  step(
    'targets list -filter',
    list(
      'targets?filter=%22%2Fitem%2Fname%22+matches+%22Generated%22&recursive=true&scope_id=global',
      'target in a list',
    ),
  ),
  step('targets read', get('targets/ttcp_1234567890', 'target')),
  step('targets create tcp -with-alias-value', {
    ...create('targets', 'web', 'target', {
      type: 'tcp',
      scope_id: ORIGINAL,
      name: 'wweb',
      description: 'x',
      address: '127.0.0.1',
      attributes: { default_port: 8080 },
      session_connection_limit: -1,
      session_max_seconds: 3600,
      with_aliases: [{ value: 'wweb.test', scope_id: 'global' }],
    }),
    with: 'description aliases[].id aliases[].value',
  }),
  step(
    'targets create tcp -address',
    create('targets', 'ssh', 'target', {
      type: 'tcp',
      scope_id: ORIGINAL,
      name: 'wssh',
      address: '127.0.0.1',
      attributes: { default_port: 22 },
    }),
  ),
  step(
    'targets create tcp, without an address',
    create('targets', 'hosts', 'target', {
      type: 'tcp',
      scope_id: ORIGINAL,
      name: 'whosts',
      attributes: { default_port: 8080 },
    }),
  ),
  step(
    'targets read, by an alias',
    get('targets/wweb.test', 'target', { with: 'aliases[].value' }),
  ),
  step(
    'targets update tcp',
    ...change('targets/<web>', 'target', { description: 'yy', session_max_seconds: 7200 }),
  ),
  step(
    'targets update tcp -description null',
    ...change('targets/<web>', 'target', { description: null }),
  ),
  ...['add', 'set'].map((word) =>
    step(
      `targets ${word}-host-sources`,
      ...verb(
        'targets/<hosts>',
        `${word}-host-sources`,
        'target',
        { host_source_ids: ['hsst_1234567890'] },
        SOURCES,
      ),
    ),
  ),
  step(
    'targets remove-host-sources',
    ...verb('targets/<hosts>', 'remove-host-sources', 'target', {
      host_source_ids: ['hsst_1234567890'],
    }),
  ),
  step(
    'targets set-host-sources -host-source null',
    ...verb('targets/<hosts>', 'set-host-sources', 'target', { host_source_ids: null }),
  ),

  // Credentials.
  step(
    'credential-stores list',
    list(`credential-stores?scope_id=${ORIGINAL}`, 'credential-store'),
  ),
  step(
    'credential-stores create static',
    create('credential-stores', 'cs', 'credential-store', {
      type: 'static',
      scope_id: ORIGINAL,
      name: 'wcs',
    }),
  ),
  step('credential-stores read', get('credential-stores/<cs>', 'credential-store')),
  step(
    'credential-stores update static',
    ...change('credential-stores/<cs>', 'credential-store', { description: 'd' }),
  ),
  ...(
    [
      [
        'up',
        'username_password',
        { username: 'juser', password: 'pass word' },
        'username password_hmac',
      ],
      [
        'spk',
        'ssh_private_key',
        { username: 'juser', private_key: WALK_SSH_KEY },
        'username private_key_hmac',
      ],
      ['json', 'json', { object: { user: 'admin' } }, 'object_hmac'],
      [
        'upd',
        'username_password_domain',
        { username: 'juser', password: 'pass word', domain: 'd' },
        'username domain password_hmac',
      ],
      ['pw', 'password', { password: 'pass word' }, 'password_hmac'],
    ] as const
  ).map(([name, type, attributes, shown]) =>
    step(`credentials create ${type}`, {
      ...create('credentials', name, 'credential', {
        type,
        credential_store_id: '<cs>',
        name,
        attributes,
      }),
      with: shown
        .split(' ')
        .map((key) => `attributes.${key}`)
        .join(' '),
    }),
  ),
  step('credentials list', list('credentials?credential_store_id=<cs>', 'credential')),
  step('credentials read', get('credentials/<up>', 'credential')),
  step(
    'credentials update username-password',
    ...change('credentials/<up>', 'credential', { description: 'zz' }),
  ),
  step(
    'targets add-credential-sources',
    ...verb(
      'targets/<web>',
      'add-credential-sources',
      'target',
      { brokered_credential_source_ids: ['<up>'] },
      BROKERED,
    ),
  ),
  step(
    'targets set-credential-sources',
    ...verb(
      'targets/<web>',
      'set-credential-sources',
      'target',
      { brokered_credential_source_ids: ['<spk>'] },
      BROKERED,
    ),
  ),
  step(
    'targets authorize-session, with a key',
    authorize('<web>', {}, `${SECRET} ${fieldsOf('username', 'private_key')}`),
  ),
  step(
    'targets remove-credential-sources',
    ...verb('targets/<web>', 'remove-credential-sources', 'target', {
      brokered_credential_source_ids: ['<spk>'],
    }),
  ),

  // Sessions. `connect` asks for no more than `targets authorize-session` does.
  step('targets authorize-session', authorize('<web>')),
  step('sessions read', get('sessions/<s>', 'session')),
  step('sessions cancel', ...verb('sessions/<s>', 'cancel', 'session', {}, 'states[].end_time')),
  step(
    'targets authorize-session -name -scope-id',
    authorize('wweb', { name: 'wweb', scope_id: ORIGINAL }),
  ),
  step(
    'targets authorize-session -name -scope-name',
    authorize('wweb', { name: 'wweb', scope_name: 'Generated project scope' }),
  ),
  step(
    'targets add-host-sources, again',
    ...verb(
      'targets/<hosts>',
      'add-host-sources',
      'target',
      { host_source_ids: ['hsst_1234567890'] },
      SOURCES,
    ),
  ),
  step(
    'targets authorize-session -host-id',
    authorize('<hosts>', { host_id: 'hst_1234567890' }, 'host_id host_set_id'),
  ),
  step('targets authorize-session, by an alias', authorize('wweb.test')),
  ...(
    [
      ['up', ['username', 'password'], ' credentials[].credential_source.description'],
      ['json', ['user'], ''],
      ['pw', ['password'], ''],
      ['upd', ['username', 'password', 'domain'], ''],
    ] as const
  ).flatMap(([name, keys, more]) => [
    step(
      `targets set-credential-sources: ${name}`,
      ...verb(
        'targets/<web>',
        'set-credential-sources',
        'target',
        { brokered_credential_source_ids: [`<${name}>`] },
        BROKERED,
      ),
    ),
    step(`connect: ${name}`, authorize('<web>', {}, `${SECRET} ${fieldsOf(...keys)}${more}`)),
  ]),
  step('sessions list', list(`sessions?scope_id=${ORIGINAL}`, 'session')),
  step(
    'sessions list -recursive -include-terminated',
    list('sessions?include_terminated=true&recursive=true&scope_id=global', 'session'),
  ),

  // Hosts.
  step('host-catalogs list', list(`host-catalogs?scope_id=${ORIGINAL}`, 'host-catalog')),
  step(
    'host-catalogs create static',
    create('host-catalogs', 'hc', 'host-catalog', {
      type: 'static',
      scope_id: ORIGINAL,
      name: 'whc',
    }),
  ),
  step('host-catalogs read', get('host-catalogs/<hc>', 'host-catalog')),
  step(
    'host-catalogs update static',
    ...change('host-catalogs/<hc>', 'host-catalog', { description: 'd' }),
  ),
  step(
    'hosts create static',
    create('hosts', 'h', 'host', {
      host_catalog_id: '<hc>',
      name: 'wh',
      attributes: { address: '127.0.0.1' },
    }),
  ),
  step('hosts list', list('hosts?host_catalog_id=<hc>', 'host')),
  step('hosts read', get('hosts/<h>', 'host')),
  step(
    'hosts update static',
    ...change('hosts/<h>', 'host', { attributes: { address: '127.0.0.2' } }),
  ),
  step(
    'host-sets create static',
    create('host-sets', 'hs', 'host-set', { host_catalog_id: '<hc>', name: 'whs' }),
  ),
  step('host-sets list', list('host-sets?host_catalog_id=<hc>', 'host-set')),
  ...['add', 'set'].map((word) =>
    step(
      `host-sets ${word}-hosts`,
      ...verb('host-sets/<hs>', `${word}-hosts`, 'host-set', { host_ids: ['<h>'] }, 'host_ids[]'),
    ),
  ),
  step(
    'host-sets remove-hosts',
    ...verb('host-sets/<hs>', 'remove-hosts', 'host-set', { host_ids: ['<h>'] }),
  ),
  step('host-sets read', get('host-sets/<hs>', 'host-set')),
  step('host-sets update static', ...change('host-sets/<hs>', 'host-set', { description: 'd' })),
  step('host-sets delete', remove('host-sets/<hs>')),
  step('hosts delete', remove('hosts/<h>')),
  step('host-catalogs delete', remove('host-catalogs/<hc>')),

  // Aliases.
  step(
    'aliases create target',
    create('aliases', 'alt', 'alias', {
      type: 'target',
      scope_id: 'global',
      value: 'wa.test',
      destination_id: '<hosts>',
    }),
  ),
  step('aliases list', list('aliases?scope_id=global', 'alias')),
  step('aliases read', get('aliases/<alt>', 'alias')),
  step(
    'aliases update target -authorize-session-host-id',
    ...change(
      'aliases/<alt>',
      'alias',
      {
        description: 'd',
        attributes: { authorize_session_arguments: { host_id: 'hst_1234567890' } },
      },
      { with: 'attributes.authorize_session_arguments.host_id destination_id' },
    ),
  ),
  step(
    'aliases update target -destination-id null',
    ...change('aliases/<alt>', 'alias', { destination_id: null }),
  ),
  step('aliases delete', remove('aliases/<alt>')),

  // People.
  step('users list', list('users?scope_id=global', 'user')),
  step('users create', create('users', 'u', 'user', { scope_id: 'global', name: 'wu' })),
  step('users read', get('users/<u>', 'user')),
  step('users update', ...change('users/<u>', 'user', { description: 'd' })),
  step('accounts list', list('accounts?auth_method_id=ampw_1234567890', 'account')),
  step(
    'accounts create password',
    create('accounts', 'acct', 'account', {
      auth_method_id: 'ampw_1234567890',
      name: 'wacct',
      attributes: { login_name: 'wuser', password: 'first password' },
    }),
  ),
  step('accounts read', get('accounts/<acct>', 'account')),
  step('accounts update password', ...change('accounts/<acct>', 'account', { description: 'd' })),
  step(
    'accounts set-password',
    ...verb('accounts/<acct>', 'set-password', 'account', { password: 'second password' }),
  ),
  step(
    'accounts change-password',
    ...verb('accounts/<acct>', 'change-password', 'account', {
      current_password: 'second password',
      new_password: 'third password',
    }),
  ),
  ...['add', 'set'].map((word) =>
    step(
      `users ${word}-accounts`,
      ...verb(
        'users/<u>',
        `${word}-accounts`,
        'user',
        { account_ids: ['<acct>'] },
        'account_ids[] accounts[].id accounts[].scope_id login_name primary_account_id',
      ),
    ),
  ),
  step(
    'users remove-accounts',
    ...verb('users/<u>', 'remove-accounts', 'user', { account_ids: ['<acct>'] }),
  ),
  step('groups create', create('groups', 'g', 'group', { scope_id: 'global', name: 'wg' })),
  step('groups list', list('groups?scope_id=global', 'group')),
  step(
    'groups add-members',
    ...verb(
      'groups/<g>',
      'add-members',
      'group',
      { member_ids: ['<u>'] },
      'member_ids[] members[].id members[].scope_id',
    ),
  ),
  step(
    'groups set-members',
    ...verb('groups/<g>', 'set-members', 'group', { member_ids: ['<u>'] }, 'member_ids[]'),
  ),
  step(
    'groups remove-members',
    ...verb('groups/<g>', 'remove-members', 'group', { member_ids: ['<u>'] }),
  ),
  step('groups read', get('groups/<g>', 'group')),
  step('groups update', ...change('groups/<g>', 'group', { description: 'd' })),
  step('roles create', {
    ...create('roles', 'r', 'role', { scope_id: ORIGINAL, name: 'wr' }),
    with: 'grant_scope_ids[]',
  }),
  step('roles list', list(`roles?scope_id=${ORIGINAL}`, 'role')),
  ...['add', 'set'].map((word) =>
    step(
      `roles ${word}-principals`,
      ...verb(
        'roles/<r>',
        `${word}-principals`,
        'role',
        { principal_ids: ['<u>'] },
        'principal_ids[] principals[].id principals[].scope_id principals[].type',
      ),
    ),
  ),
  ...(
    [
      ['add', 'read'],
      ['set', 'list,read'],
    ] as const
  ).map(([word, actions]) =>
    step(
      `roles ${word}-grants`,
      ...verb(
        'roles/<r>',
        `${word}-grants`,
        'role',
        { grant_strings: [`ids=*;type=target;actions=${actions}`] },
        'grant_strings[] grants[].canonical grants[].raw grants[].json.actions[] grants[].json.ids[] grants[].json.type',
      ),
    ),
  ),
  step(
    'roles remove-grants',
    ...verb('roles/<r>', 'remove-grants', 'role', {
      grant_strings: ['ids=*;type=target;actions=list,read'],
    }),
  ),
  ...(
    [
      ['set', 'this'],
      // The id of its own scope is another word for it.
      ['add', ORIGINAL],
    ] as const
  ).map(([word, id]) =>
    step(
      `roles ${word}-grant-scopes`,
      ...verb(
        'roles/<r>',
        `${word}-grant-scopes`,
        'role',
        { grant_scope_ids: [id] },
        'grant_scope_ids[]',
      ),
    ),
  ),
  step(
    'roles remove-grant-scopes',
    ...verb('roles/<r>', 'remove-grant-scopes', 'role', { grant_scope_ids: ['this'] }),
  ),
  step('roles read', get('roles/<r>', 'role')),
  step('roles update', ...change('roles/<r>', 'role', { description: 'd' })),
  step(
    'roles remove-principals',
    ...verb('roles/<r>', 'remove-principals', 'role', { principal_ids: ['<u>'] }),
  ),
  step('roles delete', remove('roles/<r>')),
  step('groups delete', remove('groups/<g>')),
  step('users delete', remove('users/<u>')),
  step('accounts delete', remove('accounts/<acct>')),
  step(
    'auth-methods create password',
    create('auth-methods', 'am', 'auth-method', {
      type: 'password',
      scope_id: 'global',
      name: 'wam',
    }),
  ),
  step(
    'auth-methods update password',
    ...change('auth-methods/<am>', 'auth-method', { description: 'd' }),
  ),
  step('auth-methods delete', remove('auth-methods/<am>')),

  // Workers.
  step('workers list', { ...get('workers?scope_id=global', 'worker'), lists: true, saves: 'w' }),
  step(
    'workers read',
    get('workers/<w>', 'worker', { with: 'address release_version last_status_time' }),
  ),
  step('workers create controller-led', {
    ...create('workers:create:controller-led', 'w', 'worker', { scope_id: 'global', name: 'ww' }),
    with: 'controller_generated_activation_token',
  }),
  step('workers update', ...change('workers/<w>', 'worker', { description: 'd' })),
  ...(
    [
      ['add', 'b'],
      ['set', 'c'],
    ] as const
  ).map(([word, value]) =>
    step(
      `workers ${word}-worker-tags`,
      ...verb(
        'workers/<w>',
        `${word}-worker-tags`,
        'worker',
        { api_tags: { a: [value] } },
        'api_tags{} canonical_tags{}',
      ),
    ),
  ),
  step(
    'workers remove-worker-tags',
    ...verb('workers/<w>', 'remove-worker-tags', 'worker', { api_tags: { a: ['c'] } }),
  ),
  step('workers delete', remove('workers/<w>')),
  step(
    'workers certificate-authority read',
    get('workers:read-certificate-authority?scope_id=global', 'worker certificates'),
  ),

  // What there is not, and what is asked of the wrong thing.
  step(
    'credential-libraries list, of a static store',
    refused('GET', 'credential-libraries?credential_store_id=<cs>', 400),
  ),
  step(
    'managed-groups list, of a method that has none',
    refused('GET', 'managed-groups?auth_method_id=ampw_1234567890', 400),
  ),
  step('billing monthly-active-users', {
    ...get('billing:monthly-active-users', 'active users'),
    lists: true,
  }),
  ...Object.entries({
    policies: 'policy',
    'storage-buckets': 'storage-bucket',
    'session-recordings': 'session-recording',
  }).map(([plural, shape]) => step(`${plural} list`, list(`${plural}?scope_id=global`, shape))),

  // Any kind by its id, and the end of what was made.
  step('read', get('targets/ttcp_1234567890', 'target')),
  step('update', ...change('targets/<web>', 'target', { name: 'wweb2' })),
  step('delete', remove('targets/<web>')),
  step('targets delete, twice', refused('DELETE', 'targets/<web>', 404)),
  step('targets delete', remove('targets/<ssh>')),
  step('targets read, too late', refused('GET', 'targets/<web>', 404)),
  step('credentials delete', remove('credentials/<up>')),
  step('credential-stores delete', remove('credential-stores/<cs>')),
  step('scopes delete, a project', remove('scopes/<p>')),
  step('scopes delete, an org', remove('scopes/<o>')),

  // Somebody with few rights, and nobody.
  { ...step('targets authorize-session', authorize('ttcp_1234567890')), as: 'user' },
  {
    ...step(
      'sessions list -recursive, by a plain user',
      list('sessions?recursive=true&scope_id=global', 'session'),
    ),
    as: 'user',
  },
  {
    ...step('users list, by a plain user', refused('GET', 'users?scope_id=global', 403)),
    as: 'user',
  },
  {
    ...step(
      'targets list -recursive, by nobody',
      refused('GET', 'targets?recursive=true&scope_id=global', 403),
    ),
    as: 'nobody',
  },
  step('logout', remove('auth-tokens/<self>')),
  step('targets read, after it', refused('GET', 'targets/ttcp_1234567890', 401)),
];
