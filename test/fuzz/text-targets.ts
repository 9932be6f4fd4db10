/** Readers of text that anybody may send: paths, bodies, policies. Each also checks what it was told. */

import assert from 'node:assert/strict';
import type { Acl } from '../../src/acl/acl.ts';
import { hasAccessBeneath } from '../../src/acl/grants-beneath.ts';
import { parseHcl } from '../../src/acl/hcl.ts';
import { expandPolicy } from '../../src/acl/policy.ts';
import { parsePolicy } from '../../src/acl/policy-reader.ts';
import { decodePolicyText } from '../../src/acl/policy-text.ts';
import { RuleWalk } from '../../src/acl/rule-walk.ts';
import {
  decodeAuthorizationToken,
  encodeAuthorization,
} from '../../src/broker/sessions/authorization-token.ts';
import { decodeBase58, encodeBase58 } from '../../src/core/base58.ts';
import { isPlainObject } from '../../src/core/conversions.ts';
import { Failure } from '../../src/core/failure.ts';
import { parseFormBody, parseJsonBody } from '../../src/http/json.ts';
import { canonicalisePath, listRawTails } from '../../src/http/vault/path.ts';
import {
  checkRequest,
  parseCrlExtensions,
  parseRevokedItem,
} from '../../src/pki/crl/signing/request.ts';
import {
  NO_WARNINGS,
  planWarnings,
  warningPatchSchema,
} from '../../src/pki/expiration/settings.ts';
import { parseFreeExtension } from '../../src/pki/fields/free-extension.ts';
import { RevokedEntriesWriter } from '../../src/x509/revoked-certificates.ts';
import { capabilitiesAt, compiledAcl, judgedAccess } from '../support/judged.ts';
import type { FuzzTarget } from './run.ts';

const bytesOf = (...texts: string[]): Uint8Array[] =>
  texts.map((text) => new TextEncoder().encode(text));
const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const utf8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

const POLICIES = bytesOf(
  'path "pki/issue/+" {\n  capabilities = ["update"]\n  allowed_parameters = { "*" = [], ttl = ["1h", 3600] }\n}',
  '# a\npath "a/+/c*" { policy = "write" } // b\npath "{{identity.entity.name}}/x" { policy = "deny" } /* c */',
  'path "x" { min_wrapping_ttl = "1m" max_wrapping_ttl = 120 required_parameters = ["a"] comment = <<-E\n  x\n  E\n}',
  '{"path": {"pki/*": {"capabilities": ["read", "list"], "denied_parameters": {"a": [null, true, -1.5e2]}}}}',
);
const POLICY_WORDS = [
  'path "',
  'capabilities = ["',
  'deny',
  'sudo',
  '{{identity.entity.id}}',
  '/*',
  '*/',
  '//',
  '<<EOF\n',
  '+*',
  '/+/',
  '\\u0000',
  '__proto__',
  '{}',
  '[]',
];

const SETTINGS = bytesOf(
  '{"enabled":true,"before":["30d","7d"],"webhook_url":"https://a.test:8443/b?c=d","mail_to":["a.b+c@example.com"]}',
  '{"before":"1h,90m","webhook_url":"http://127.0.0.1/"}',
);

/** Whatever they are: receivers are plain addresses, and URLs have TLS. */
function readWarningSettings(bytes: Uint8Array): void {
  const sent = warningPatchSchema.safeParse(parseJsonBody(bytes)).data;
  if (!sent) return;
  const { webhook_secret: _, ...patch } = sent;
  const planned = planWarnings(NO_WARNINGS, patch, { mail: true, loopback: true });
  for (const address of planned.mail_to) assert.match(address, /^[!-~]{1,254}$/);
  assert.match(
    planned.webhook_url,
    /^(?:https:\/\/[!-~]+|http:\/\/(?:127|0x7f|\[|[\d%])[!-~]*)?$/i,
  );
  assert.ok(planned.before.length > 0 && planned.before.length <= 10);
}

function readPolicy(bytes: Uint8Array): void {
  const policy = parsePolicy(decodePolicyText(utf8(bytes)));
  assert.equal(policy.root, false);
  const identity = { entity: { id: 'i', name: '*', metadata: {}, aliases: {} }, groups: [] };
  const acl = compiledAcl([expandPolicy(policy, identity)], 0);
  // A rejection ends the process, as a throw does.
  for (const path of ['pki/issue/web', 'a/b/cd/e', 'x', '*/x', 'a/x']) {
    const verdict = judgedAccess(acl, { path, operation: 'update', sudoRequired: false });
    if (verdict.allowed) void requireTold(acl, path);
  }
  void hasAccessBeneath(acl, 'pki/', new RuleWalk());
}

async function requireTold(acl: Acl, path: string): Promise<void> {
  assert.ok((await capabilitiesAt(acl, path)).includes('update'));
}

function readJson(bytes: Uint8Array): void {
  const read = parseJsonBody(bytes);
  // `JSON.parse` is the second opinion; it takes more, and never means something else.
  if (utf8(bytes).trim() !== '') assert.deepEqual(read, JSON.parse(utf8(bytes)));
}

function readPath(bytes: Uint8Array): void {
  const target = latin1(bytes);
  for (const { head } of listRawTails(target, ['ocsp'])) assert.ok(head.endsWith('ocsp'));
  const { path, slash } = canonicalisePath(target);
  const written = `/v1/${path.split('/').map(encodeURIComponent).join('/')}${slash && path ? '/' : ''}`;
  assert.equal(canonicalisePath(written).path, path);
  for (const segment of path.split('/')) {
    assert.ok(segment !== '.' && segment !== '..' && !/[\\\p{C}]/u.test(segment));
  }
}

const AUTHORIZATION = encodeAuthorization({
  session_id: 's_1234567890',
  target_id: 'ttcp_1234567890',
  scope: { id: 'p_1', type: 'project', name: 'n', description: '', parent_scope_id: 'o_1' },
  created_ms: 1_800_000_000_123,
  type: 'tcp',
  connection_limit: -1,
  endpoint_port: 22,
  expires_ms: 1_800_000_060_000,
  certificate: new Uint8Array(40).fill(0x30),
  private_key: new Uint8Array(64).fill(7),
  host_id: '',
  endpoint: 'tcp://[2001:db8::1]:22',
  worker_addresses: ['127.0.0.1:9202', 'w.example:9202'],
  default_client_port: 0,
});

/** The message as it is, so that damage reaches its fields; its text is read back, too. */
function readSessionToken(bytes: Uint8Array): void {
  // Beyond, it is our own writing that takes the time, and text that nobody reads.
  if (bytes.length > 16 << 10) throw new Failure('invalid', 'too long');
  const token = encodeBase58(bytes);
  assert.ok(Buffer.from(decodeBase58(token) ?? []).equals(bytes));
  const read = decodeAuthorizationToken(token);
  if (!read) throw new Failure('invalid', 'no token');
}

/** One entry of a list to be signed, as JSON; what it reads can be encoded. */
function readCrlRequest(bytes: Uint8Array): void {
  const item = parseJsonBody(bytes);
  if (!isPlainObject(item)) throw new Failure('invalid', 'no map');
  const { extensions = [], ...rest } = item;
  if (Array.isArray(extensions)) parseCrlExtensions(extensions.filter(isPlainObject));
  new RevokedEntriesWriter().append(parseRevokedItem(item));
  const { next_update, format } = rest;
  checkRequest({
    crl_number: 1,
    delta_crl_base_number: -1,
    next_update: String(next_update ?? '72h'),
    format: String(format ?? 'pem'),
  });
}

export const textTargets: readonly FuzzTarget[] = [
  {
    name: 'crl-request',
    corpus: bytesOf(
      '{"serial_number":"0a:0b","revocation_time":1700000000,"next_update":"72h","format":"pem"}',
      '{"serial_number":"0a.0b","revocation_time":"2030-01-31T12:00:00Z","extensions":[{"id":"2.5.29.24","critical":"true","value":"BQA="}]}',
    ),
    words: ['"extensions":[', '{"id":"1.2.3"', '"critical":true', '"value":""', '-', 'ff'],
    read: readCrlRequest,
  },
  { name: 'hcl', corpus: POLICIES, words: POLICY_WORDS, read: (bytes) => parseHcl(utf8(bytes)) },
  { name: 'policy', corpus: POLICIES, words: POLICY_WORDS, read: readPolicy },
  {
    name: 'warnings',
    corpus: SETTINGS,
    words: [
      'https://',
      'http://[::1]/',
      '@',
      '\\r\\n',
      ',',
      '%00',
      '"mail_to":',
      '"webhook_ca":"-----BEGIN X-----',
      '1e9',
      'd"',
    ],
    read: readWarningSettings,
  },
  {
    name: 'json',
    corpus: bytesOf(
      '{"common_name":"a.test","ttl":"1h","list":["a",1,true,null],"map":{"a":{"b":-1.5e3}}}',
      '{"csr":"-----BEGIN\\nAB\\"C\\\\\\n","n":"\\u00e9\\ud83d\\ude00"}',
      '{}',
    ),
    words: [
      '"a":',
      '{"a":',
      '[',
      ']',
      '}',
      '\\u',
      '\\"',
      '\\\\',
      '"__proto__":1,',
      '\\ud800',
      '1e999',
    ],
    read: readJson,
  },
  {
    name: 'form',
    corpus: bytesOf('ttl=1h&common_name=a+b%2Bc&a=1&a=2', 'a&b=&%C3%A9=1'),
    words: ['%', '%ff', '&', '=', '+', '__proto__'],
    read: (bytes) => parseFormBody(bytes),
  },
  {
    name: 'path',
    corpus: bytesOf(
      '/v1/pki/issue/web?list=true',
      '/v1/pki/issuer/a%20b%C3%A9/json',
      '/v1/pki/certs/',
      '/v1/pki/cert/17:67',
    ),
    words: ['/', '//', '/../', '%2e', '%2F', '%25', '%5c', '%00', '%c0%af', '\\', '/ocsp/', '?'],
    read: readPath,
  },
  {
    name: 'extension',
    corpus: bytesOf('1.3.6.1.4.1.99999.1;UTF8:a', '1.2.3;DER:BQA='),
    words: ['2.5.29.17', ';UTF8:', ';DER:', 'MAUC', '.1'],
    read: (bytes) => parseFreeExtension(utf8(bytes)),
  },
  { name: 'session-token', corpus: [AUTHORIZATION], read: readSessionToken },
];
