import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../core/failure.ts';
import { DEV_DEFAULTS, devConfig, parseConfig } from './config.ts';
import { parseAddress } from './kinds.ts';

const whole = {
  listener: { address: '127.0.0.1:8200', tls_disable: true },
  storage: { type: 'sqlite', path: '/var/lib/gatehouse' },
};

test('a configuration file with only what is needed is enough', () => {
  const config = parseConfig(JSON.stringify(whole));
  assert.deepEqual(config.listen, { host: '127.0.0.1', port: 8200 });
  assert.deepEqual(config.seal, { type: 'shamir' });
  assert.equal(config.tls, undefined);
});

test('how many threads answer is for the machine to say, unless somebody does', () => {
  assert.equal(parseConfig(JSON.stringify(whole)).threads, undefined);
  assert.equal(parseConfig(JSON.stringify({ ...whole, threads: 999 })).threads, 999);
});

test('hosts are read in one form, and a development server has its own', () => {
  const { allowed_hosts } = parseConfig(
    JSON.stringify({ ...whole, allowed_hosts: ['Gatehouse.test.', '[2001:DB8::1]'] }),
  );
  assert.deepEqual(allowed_hosts, ['gatehouse.test', '2001:db8::1']);
  assert.equal(parseConfig(JSON.stringify(whole)).allowed_hosts, undefined);
  const dev = (change: object) => devConfig({ ...DEV_DEFAULTS, ...change }).allowed_hosts;
  assert.deepEqual(dev({ listen: 'machine.test:8200', allowed_hosts: 'a.test,b.test' }), [
    'machine.test',
    'a.test',
    'b.test',
  ]);
  assert.deepEqual(dev({ listen: ':8200' }), []);
  assert.deepEqual(dev({ listen: '[::1]:8200' }), ['::1']);
});

test('a seal of a transit engine has a token, a namespace and a name as they go over the wire', () => {
  const seal = {
    ...{ type: 'transit', address: 'https://192.0.2.1:8200', token: 's.x~!' },
    ...{ namespace: 'a/b', key_name: 'k', tls_server_name: 'vault_1.test' },
  };
  assert.deepEqual(parseConfig(JSON.stringify({ ...whole, seal })).seal, {
    ...seal,
    ...{ mount_path: 'transit', tls_ca_cert: undefined },
  });
});

const refused: [change: object, says: RegExp, why: string][] = [
  [{ listenr: {} }, /unknown key "listenr"/, 'a key that is not known'],
  [{ storage: { ...whole.storage, file: 'x' } }, /unknown key "storage.file"/, 'the same, deeper'],
  [
    { storage: { type: 'mysql' } },
    /storage\.type must be one of sqlite, postgres/,
    'no such engine',
  ],
  [{ storage: undefined }, /storage\.type must be/, 'no storage'],
  [{ listener: { address: '127.0.0.1:8200' } }, /tls_cert_file/, 'TLS neither given nor disabled'],
  [{ listener: { address: '8200', tls_disable: true } }, /HOST:PORT/, 'an address without a host'],
  [{ seal: { type: 'keyfile' } }, /seal\.path/, 'a key file without a path'],
  [
    { seal: { type: 'magic' } },
    /seal\.type must be one of shamir, keyfile, pkcs11, transit/,
    'no seal',
  ],
  [
    { seal: { type: 'pkcs11', library: 'x', slot: '1', pin: '1', key_label: 'k' } },
    /seal\.library must be the name of a kms_library/,
    'a library that there is not',
  ],
  [
    {
      kms_library: [{ name: 'x', library: '/x.so' }],
      seal: { type: 'pkcs11', library: 'x', pin: '1', key_label: 'k' },
    },
    /seal\.slot or seal\.token_label must be given/,
    'a device without a token',
  ],
  [
    { seal: { type: 'transit', address: 'ftp://a', token: 't', key_name: 'k' } },
    /seal\.address must be http/,
    'another protocol',
  ],
  ...['http://a:99999', 'https://[::1', 'http://:8200', 'http://%'].map(
    (address): [object, RegExp, string] => [
      { seal: { type: 'transit', address, token: 't', key_name: 'k' } },
      /seal\.address must be http/,
      `${address} is no URL`,
    ],
  ),
  [
    { seal: { type: 'transit', address: 'https://a', token: 't', key_name: 'a/b' } },
    /seal\.key_name must be the name of one key/,
    'two names',
  ],
  ...(
    [
      ['token', 's.x\n', 'an end of line'],
      ['token', 's x', 'a blank'],
      ['namespace', 'a\u4e2d', 'what no header has'],
      ['namespace', 'a\rb', 'a control'],
      ['tls_server_name', '127.0.0.1', 'an address'],
      ['tls_server_name', '::1', 'another address'],
      ['tls_server_name', 'a b', 'a blank'],
    ] as const
  ).map(([field, value, why]): [object, RegExp, string] => [
    {
      seal: { type: 'transit', address: 'https://a', token: 't', key_name: 'k', [field]: value },
    },
    new RegExp(`seal\\.${field} must be (?!.*${value})`),
    `${field} with ${why}`,
  ]),
  [
    { cluster_name: '-west' },
    /cluster_name must .* begin with a letter or a digit/,
    "a cluster's name that begins with a hyphen",
  ],
  [
    { seal: { type: 'transit', address: 'https://a', token: 't', key_name: '../k' } },
    /seal\.key_name must be a path/,
    'a key beside the engine',
  ],
  [{ kms_library: [{ name: 'a' }] }, /kms_library\[0\]\.library must be a text/, 'no library'],
  [
    { kms_library: [{ name: 'a', library: 'lib.so' }] },
    /kms_library\[0\]\.library must be an absolute path/,
    'a library from wherever the loader looks',
  ],
  [
    { kms_library: [{ name: 'A b', library: '/lib.so' }] },
    /kms_library\[0\]\.name: lower-case letters/,
    'a name that could not stand in a path',
  ],
  [
    { kms_library: [1, 2].map(() => ({ name: 'a', library: '/lib.so' })) },
    /kms_library has "a" twice/,
    'two libraries of a name',
  ],
  [{ log_level: 'loud' }, /log_level must be one of/, 'no such level'],
  [
    { audit: { sinks: [{ type: 'kafka' }] } },
    /sinks\[0\]\.type must be one of file, syslog/,
    'a sink',
  ],
  [{ audit: { sinks: [{ type: 'file' }] } }, /sinks\[0\]\.path/, 'a file without a path'],
  [
    { audit: { sinks: [{ type: 'stdout', path: '/x' }] } },
    /unknown key "audit\.sinks\[0\]\.path"/,
    'a key of another sink',
  ],
  [
    { audit: { sinks: [{ type: 'syslog', address: 'log.test' }] } },
    /sinks\[0\]\.address must be like/,
    'an address that is none',
  ],
  [
    { audit: { sinks: [{ type: 'stdout' }, { type: 'stdout' }] } },
    /has stdout twice/,
    'one sink twice',
  ],
  [{ audit: { retention_days: -1 } }, /audit\.retention_days/, 'a negative time'],
  [{ user_lockout: { lockout_threshold: 0 } }, /lockout_threshold must be 1/, 'locked for ever'],
  [{ user_lockout: { lockout_duration: '' } }, /lockout_duration must be seconds/, 'no duration'],
  [{ user_lockout: { threshold: 3 } }, /unknown key "user_lockout\.threshold"/, 'a shorter name'],
  [{ rate_limits: { list: { total: 0 } } }, /rate_limits\.list\.total must be 1/, 'no requests'],
  [{ threads: 0 }, /threads must be 1 or more/, 'nobody who answers'],
  [{ threads: 1000 }, /threads must be 999 or fewer/, 'threads without end'],
  [{ rate_limits: { lists: {} } }, /unknown key "rate_limits\.lists"/, 'a limit of nothing'],
  [{ rate_limits: { period: 0 } }, /rate_limits\.period must be seconds/, 'no time'],
  [
    { session_limits: { max_per_user: 0 } },
    /session_limits\.max_per_user must be 1 or more/,
    'no session for anybody',
  ],
  [
    { session_limits: { max_per_user: 1.5 } },
    /session_limits\.max_per_user must be 1 or more, a whole number/,
    'half a session',
  ],
  [
    { session_limits: { idle_seconds: 0 } },
    /session_limits\.idle_seconds must be seconds/,
    'a session that is idle at once',
  ],
  [{ session_limits: { idle: 9 } }, /unknown key "session_limits\.idle"/, 'a time without a unit'],
  [{ cors: { allowed_origins: '*' } }, /cors\.allowed_origins must be a list/, 'no list'],
  [
    { credential_stores: { denied_networks: ['10.0.0.0/40'] } },
    /denied_networks: "10\.0\.0\.0\/40" is no address block/,
    'no block',
  ],
  [
    { credential_stores: { allowed_networks: '10.0.0.0/8' } },
    /must be a list/,
    'no list of blocks',
  ],
  [
    { listener: { ...whole.listener, trusted_proxies: ['10.0.0.0/33'] } },
    /listener\.trusted_proxies: "10\.0\.0\.0\/33" is no address block/,
    'a range of too many bits',
  ],
  [
    { listener: { ...whole.listener, trusted_proxies: '10.0.0.1' } },
    /listener\.trusted_proxies must be a list/,
    'a proxy that is no list',
  ],
  [
    { listener: { ...whole.listener, max_connections: 0 } },
    /listener\.max_connections must be 1 or more/,
    'no connections',
  ],
  [
    { listener: { ...whole.listener, header_timeout: '0s' } },
    /listener\.header_timeout must be seconds/,
    'no time',
  ],
  [{ allowed_hosts: 'a.test' }, /allowed_hosts must be names/, 'no list of hosts'],
  [{ allowed_hosts: ['a.test:80'] }, /allowed_hosts must be names/, 'a host with a port'],
  [{ allowed_hosts: ['http://a.test'] }, /allowed_hosts must be names/, 'a URL for a host'],
  [{ cors: { allowed_headers: ['A B'] } }, /"A B" is no name/, 'no header'],
  [{ recovery_key: 'c2hvcnQ=' }, /recovery_key must be 32 bytes/, 'a short key'],
  [
    { proxy_listener: { public_address: 'proxy.test:0' } },
    /public_address must name a host and a port/,
    'no port',
  ],
  [
    { proxy_listener: { public_address: 'proxy.test' } },
    /public_address must be HOST:PORT/,
    'no port at all',
  ],
];
for (const [change, says, why] of refused) {
  test(`a configuration is refused by the name of what is wrong: ${why}`, () => {
    assert.throws(
      () => parseConfig(JSON.stringify({ ...whole, ...change })),
      (error) => error instanceof Failure && says.test(error.message),
    );
  });
}

test('what does not go with the other settings is not looked at', () => {
  const change = { url: '', node_name: 5 };
  const { storage } = parseConfig(
    JSON.stringify({ ...whole, storage: { ...whole.storage, ...change } }),
  );
  assert.deepEqual(storage, { type: 'sqlite', directory: '/var/lib/gatehouse' });
  const other = { ...whole, storage: { ...change, type: 'postgres' } };
  assert.throws(() => parseConfig(JSON.stringify(other)), /storage\.url must be a text/);
});

test('a misspelt key is named before what is missing for that', () => {
  const misspelt = { ...whole, storage: { type: 'sqlite', paht: '/x' } };
  assert.throws(() => parseConfig(JSON.stringify(misspelt)), /unknown key "storage\.paht"/);
});

test('a refusal never shows what may be secret', () => {
  const url = 'postgres://me:hunter2@db.test/x?ssl=1';
  const storage = { type: 'postgres', url, node_name: 'a' };
  for (const change of [{ storage }, { recovery_key: 'hunter2' }]) {
    assert.throws(
      () => parseConfig(JSON.stringify({ ...whole, ...change })),
      (error) => error instanceof Failure && !error.message.includes('hunter2'),
    );
  }
});

test('sinks and lockout are read with their defaults', () => {
  const audit = {
    retention_days: 90,
    sinks: [{ type: 'file', path: '/a' }, { type: 'syslog' }, { type: 'stdout' }],
  };
  const config = parseConfig(
    JSON.stringify({ ...whole, audit, user_lockout: { lockout_duration: '1h' } }),
  );
  assert.deepEqual(config.audit.sinks, [
    { type: 'file', path: '/a' },
    { type: 'syslog', address: 'unix:///dev/log', facility: 'auth', tag: 'gatehouse' },
    { type: 'stdout' },
  ]);
  assert.equal(config.audit.retention_days, 90);
  assert.equal(config.audit.record_public_reads, false);
  assert.deepEqual(config.user_lockout, {
    disable_lockout: false,
    lockout_threshold: 5,
    lockout_duration: 3600,
    lockout_counter_reset: 900,
  });
});

test('an address may be IPv6, and a port may not be too large', () => {
  assert.deepEqual(parseAddress('listen', '[::1]:8200'), { host: '::1', port: 8200 });
  const named = { host: 'xn--hst-sna.a_b-c.example', port: 1 };
  assert.deepEqual(parseAddress('listen', 'xn--hst-sna.a_b-c.example:1'), named);
  const refused = ['127.0.0.1:70000', 'höst.example:1', 'a b:1', 'a,b:1', 'a"b:1', '\u202eb:1'];
  for (const text of [...refused, `${'a'.repeat(254)}:1`]) {
    assert.throws(() => parseAddress('listen', text), Failure, text);
  }
});

test('a configuration file names each key once', () => {
  const text = JSON.stringify(whole);
  assert.ok(parseConfig(text));
  const twice = `${text.slice(0, -1)},"log_level":"info","log_level":"debug"}`;
  assert.throws(() => parseConfig(twice), /has a key twice/);
});
