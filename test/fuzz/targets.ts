/** Everything that reads bytes that anybody may send. A new reader gets a line here. */

import assert from 'node:assert/strict';
import { Failure } from '../../src/core/failure.ts';
import { parsePem } from '../../src/core/pem.ts';
import { readAuthorities, readBundle as sortBundle } from '../../src/pki/imports/bundle.ts';
import { readPrivateKey } from '../../src/pki/keys/imported-key.operations.ts';
import { isSelfSigned, isSignedBy, parseCertificate } from '../../src/x509/certificate.ts';
import { parseCertificatePolicies } from '../../src/x509/certificate-policies.ts';
import { isCsrSignatureValid, parseCsr } from '../../src/x509/csr.ts';
import { contextConstructed } from '../../src/x509/der.ts';
import { readDer, requireWellFormed } from '../../src/x509/der-reader.ts';
import {
  parseAuthorityInfoAccess,
  parseDistributionPoints,
} from '../../src/x509/extension-urls.ts';
import type { Extension } from '../../src/x509/extensions.ts';
import { parseExtKeyUsage } from '../../src/x509/key-usages.ts';
import { describePublicKey, keyIdentifier } from '../../src/x509/keys.ts';
import { parseNameConstraints } from '../../src/x509/name-constraints.ts';
import { nameText } from '../../src/x509/names.ts';
import { decodeOcspPath, parseOcspRequest } from '../../src/x509/ocsp.ts';
import { EXTENSION_OID } from '../../src/x509/oids.ts';
import { parsePrivateKey } from '../../src/x509/private-keys.ts';
import { judgeNameConstraints } from '../../src/x509/subtrees.ts';
import { isCrlSignedBy, parseCrl } from '../support/crl.ts';
import { authorityTargets } from './authority-targets.ts';
import { brokerTargets } from './broker-targets.ts';
import * as corpus from './corpus.ts';
import { policyTargets } from './policy-targets.ts';
import { recordingTargets } from './recording-targets.ts';
import type { FuzzTarget } from './run.ts';
import { sessionTargets } from './session-targets.ts';
import { sshTargets } from './ssh-targets.ts';
import { textTargets } from './text-targets.ts';
import { tokenTargets } from './token-targets.ts';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

const EXTENSION_READERS = new Map<string, (value: Uint8Array) => unknown>([
  [EXTENSION_OID.extKeyUsage, parseExtKeyUsage],
  [EXTENSION_OID.authorityInfoAccess, parseAuthorityInfoAccess],
  [EXTENSION_OID.cRLDistributionPoints, parseDistributionPoints],
  [EXTENSION_OID.freshestCRL, parseDistributionPoints],
  [EXTENSION_OID.certificatePolicies, parseCertificatePolicies],
  [EXTENSION_OID.nameConstraints, parseNameConstraints],
]);

function readExtensions(extensions: readonly Extension[]): void {
  for (const { oid, value } of extensions) EXTENSION_READERS.get(oid)?.(value);
}

function readCertificate(bytes: Uint8Array): void {
  const certificate = parseCertificate(bytes);
  nameText(certificate.subjectName);
  readExtensions(certificate.extensions);
  isSignedBy(certificate, corpus.ISSUER_KEY);
  keyIdentifier(certificate.subjectPublicKeyInfo);
  describePublicKey(certificate.subjectPublicKeyInfo);
  isSelfSigned(certificate);
}

function readRequest(bytes: Uint8Array | string): void {
  const csr = parseCsr(bytes);
  nameText(csr.subjectName);
  readExtensions(csr.extensions);
  isCsrSignatureValid(csr);
}

function readList(bytes: Uint8Array): void {
  const crl = parseCrl(bytes);
  isCrlSignedBy(crl, corpus.ISSUER_KEY);
  for (const { extensions } of crl.entries()) readExtensions(extensions ?? []);
}

function readBundle(bytes: Uint8Array): void {
  const blocks = parsePem(text(bytes));
  if (blocks.length === 0) throw new Failure('invalid', 'a text without blocks');
  for (const { label, der } of blocks) {
    if (label === 'CERTIFICATE') readCertificate(der);
    else if (label === 'X509 CRL') readList(der);
    else if (label === 'CERTIFICATE REQUEST') readRequest(der);
    else requireWellFormed(readDer(der));
  }
}

/** Constraints on directory names, with names above and below them judged by them. */
function readSubtrees(bytes: Uint8Array): void {
  const constraints = parseNameConstraints(bytes);
  const { permitted_directory_names, excluded_directory_names } = constraints;
  for (const attributes of [...permitted_directory_names, ...excluded_directory_names]) {
    nameText({ attributes });
  }
  const unknown = [contextConstructed(4, corpus.SUBJECT), contextConstructed(4, bytes)];
  for (const subject of [corpus.SUBJECT, corpus.ISSUER, bytes]) {
    const names = { dns: [], email: [], ip: [], uri: [], subject, unknown };
    const verdict = judgeNameConstraints(constraints, names);
    const isExcluded = excluded_directory_names.some((name) => name.length === 0);
    assert.ok(!isExcluded || !verdict.allowed, 'the empty subtree holds everything');
  }
}

/** As an import reads it. */
function readImport(bytes: Uint8Array): void {
  const { certificates, keys } = endOf(sortBundle(text(bytes), true));
  if (certificates.length + keys.length === 0) throw new Failure('invalid', 'nothing to import');
  endOf(readAuthorities(certificates));
  for (const key of keys) readPrivateKey(key);
}

function endOf<Read>(steps: Generator<undefined, Read, undefined>): Read {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

const PEM_WORDS = [
  '-----BEGIN ',
  '-----END ',
  '-----',
  'CERTIFICATE',
  'EC PRIVATE KEY',
  'PRIVATE KEY-----\n',
  'Proc-Type: 4,ENCRYPTED\n',
  '\r\n',
  '=',
];

export const fuzzTargets: readonly FuzzTarget[] = [
  {
    name: 'der',
    corpus: corpus.certificates,
    read: (bytes) => requireWellFormed(readDer(bytes)),
  },
  { name: 'certificate', corpus: corpus.certificates, read: readCertificate },
  { name: 'csr', corpus: corpus.requests, read: readRequest },
  { name: 'crl', corpus: corpus.revokedLists, read: readList },
  { name: 'name-constraints', corpus: corpus.directorySubtrees, read: readSubtrees },
  { name: 'ocsp-request', corpus: corpus.ocspRequests, read: (bytes) => parseOcspRequest(bytes) },
  {
    name: 'ocsp-path',
    corpus: corpus.ocspPaths,
    words: ['/', '//', '+', '-', '_', '=', '%2F'],
    read: (bytes) => parseOcspRequest(decodeOcspPath(text(bytes))),
  },
  { name: 'pem', corpus: corpus.bundles, words: PEM_WORDS, read: readBundle },
  {
    name: 'import',
    corpus: corpus.imports,
    words: [...PEM_WORDS, 'X509 ', 'EC PARAMETERS', 'RSA '],
    read: readImport,
  },
  {
    name: 'private-key',
    corpus: corpus.privateKeys,
    words: PEM_WORDS,
    read: (bytes) => parsePrivateKey(text(bytes)),
  },
  ...authorityTargets,
  ...sessionTargets,
  ...sshTargets,
  ...recordingTargets,
  ...textTargets,
  ...policyTargets,
  ...brokerTargets,
  ...tokenTargets,
];
