import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import { directoryConstraints, directoryName } from '../../../test/support/directory-names.ts';
import {
  assembleSigned,
  type Certificate,
  encodeTbsCertificate,
  parseCertificate,
} from '../../x509/certificate.ts';
import type { Extension } from '../../x509/extensions.ts';
import { publicKeyInfo } from '../../x509/keys.ts';
import { nameConstraints } from '../../x509/name-constraints.ts';
import { nameText, parseName } from '../../x509/names.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import { DEFAULT_SETTINGS, type Issuer } from '../mount-state/issuer.ts';
import { chooseOwnSubject } from './own-subject.ts';

const key = generateKeyPairSync('ed25519').privateKey;

function certify(subject: Uint8Array, issuer: Uint8Array, extension?: Extension): Certificate {
  const tbs = encodeTbsCertificate({
    serialNumber: Uint8Array.of(1),
    signatureAlgorithm: 'PureEd25519',
    issuer,
    notBefore: 0,
    notAfter: 4_000_000_000,
    subject,
    subjectPublicKeyInfo: publicKeyInfo(key),
    extensions: extension ? [extension] : [],
  });
  return parseCertificate(assembleSigned(tbs, 'PureEd25519', sign(null, tbs, key)));
}

function choose(chain: Certificate[]): string | undefined {
  const [certificate] = chain;
  assert.ok(certificate);
  const issuer: Issuer = {
    id: 'i',
    name: '',
    key_id: 'k',
    certificate,
    chain,
    signed_by: '',
    settings: { ...DEFAULT_SETTINGS, disable_name_constraint_checks: true },
    revoked_at_ms: undefined,
    revocation_reason: 0,
    modified_at_ms: 0,
    created_at_ms: 0,
    version: 0,
  };
  const chosen = chooseOwnSubject(issuer, 'Own');
  return chosen && nameText({ attributes: parseName(chosen).attributes });
}

const ACME = directoryName([['O', 'Acme']]);
const SUB = directoryName([['O', 'Acme']], [['CN', 'Sub']]);
const HOST = directoryName([['O', 'Acme']], [['CN', 'ca.example.com']]);
const ROOT = directoryName([['CN', 'Root']]);
const many = directoryName(
  ...Array.from({ length: 256 }, (_, at): ['OU', string][] => [['OU', String(at)]]),
);
const dns = (...permitted_dns_domains: string[]) => nameConstraints({ permitted_dns_domains });
const broken = { oid: EXTENSION_OID.nameConstraints, critical: true, value: Uint8Array.of(5, 0) };

const ROWS: [
  why: string,
  issuer: Uint8Array,
  own: Extension | undefined,
  root: Extension | undefined,
  chosen: string | undefined,
][] = [
  ['beneath the issuer, whoever permits that', SUB, undefined, undefined, 'CN=Own,CN=Sub,O=Acme'],
  [
    'beneath what the issuer permits',
    SUB,
    directoryConstraints([ACME]),
    undefined,
    'CN=Own,CN=Sub,O=Acme',
  ],
  [
    'beneath what one above it permits',
    SUB,
    undefined,
    directoryConstraints([ACME]),
    'CN=Own,CN=Sub,O=Acme',
  ],
  [
    'none where another organization is permitted',
    SUB,
    directoryConstraints([ROOT]),
    undefined,
    undefined,
  ],
  [
    'none where another one is permitted above it',
    SUB,
    undefined,
    directoryConstraints([ROOT]),
    undefined,
  ],
  [
    'alone where the issuer is excluded',
    SUB,
    directoryConstraints([], [ACME]),
    undefined,
    'CN=Own',
  ],
  [
    'none where every name is excluded',
    SUB,
    directoryConstraints([], [directoryName()]),
    undefined,
    undefined,
  ],
  ['without the host that a CA is called by', HOST, dns('a.test'), undefined, 'CN=Own,O=Acme'],
  ['likewise where nothing is known of hosts', HOST, undefined, undefined, 'CN=Own,O=Acme'],
  [
    'with it where that alone is permitted',
    HOST,
    directoryConstraints([HOST]),
    undefined,
    'CN=Own,CN=ca.example.com,O=Acme',
  ],
  ['alone beneath the longest name', many, undefined, undefined, 'CN=Own'],
  ['none where the constraints cannot be read', SUB, undefined, broken, undefined],
];
for (const [why, subject, own, above, chosen] of ROWS) {
  test(`a certificate of the server's own is named ${why}`, () => {
    const root = certify(ROOT, ROOT, above);
    assert.equal(choose([certify(subject, ROOT, own), root]), chosen);
  });
}
