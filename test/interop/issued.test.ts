/** OpenSSL, GnuTLS and zlint judge a few hundred certificates, each of another shape. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { basicConstraints, subjectAltName } from '../../src/x509/extensions.ts';
import type { SubjectAltNames } from '../../src/x509/general-names.ts';
import { keyUsage } from '../../src/x509/key-usages.ts';
import { makeCsr } from '../support/leaves.ts';
import { startTestServer } from '../support/server.ts';
import { findCommand, findTool } from '../support/tools.ts';
import { type Issued, issueShapes } from './shapes.ts';

const names: SubjectAltNames = {
  dns: ['a.example.com', '*.example.com'],
  email: ['a@example.com'],
  ip: ['10.0.0.1'],
  uri: ['spiffe://a.example.com/b'],
  other: [],
};
const csrs = {
  plain: makeCsr({ subject: { common_name: 'a.example.com' } }),
  'with names': makeCsr({ extensions: [subjectAltName(names, true)] }),
  'with every subject field': makeCsr({
    key: 'ec-384',
    subject: { common_name: 'a.example.com', organization: ['Ö'], country: ['CH'] },
  }),
  'asking to be a CA': makeCsr({
    key: 'ed25519',
    subject: { common_name: 'a.example.com' },
    extensions: [basicConstraints({ ca: true }), keyUsage(['CertSign'])].filter(
      (extension) => extension !== undefined,
    ),
  }),
  'of an RSA key': makeCsr({ key: 'rsa-2048', subject: { common_name: 'a.example.com' } }),
};

const { call } = await startTestServer({ after });
const { roots, leaves } = await issueShapes(call, csrs);

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-judges-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const leafFile = (at: number): string => `leaf-${at}.pem`;
const rootFile = (name: string): string => `root-${name}.pem`;
for (const [name, certificate] of Object.entries(roots)) {
  writeFileSync(join(folder, rootFile(name)), `${certificate}\n`);
}
for (const [at, { certificate }] of leaves.entries()) {
  writeFileSync(join(folder, leafFile(at)), `${certificate}\n`);
}

function run(command: string, ...args: string[]): { status: number | null; text: string } {
  const options = { cwd: folder, encoding: 'utf8', maxBuffer: 1 << 28 } as const;
  const { status, stdout, stderr, error } = spawnSync(command, args, options);
  if (error) throw error;
  return { status, text: stdout + stderr };
}

const shapeOf = (at: number): string => leaves[at]?.shape ?? '';

test('there are a few hundred shapes', () => {
  assert.ok(leaves.length >= 300, String(leaves.length));
  const kinds = new Set(leaves.map((leaf: Issued) => leaf.root));
  assert.deepEqual([...kinds].sort(), Object.keys(roots).sort(), 'each root has leaves');
});

test('OpenSSL verifies every chain strictly', { skip: findCommand('openssl').skip }, () => {
  for (const root of Object.keys(roots)) {
    const own = leaves.flatMap((leaf, at) => (leaf.root === root ? [leafFile(at)] : []));
    const args = ['verify', '-x509_strict', '-check_ss_sig', '-CAfile', rootFile(root)];
    const verdict = run('openssl', ...args, rootFile(root), ...own);
    const told = verdict.text.replaceAll(/leaf-(\d+)\.pem/g, (_, at) => shapeOf(Number(at)));
    assert.equal(verdict.status, 0, told);
  }
});

test('GnuTLS verifies every chain', { skip: findCommand('certtool').skip }, () => {
  for (const [at, { root, shape }] of leaves.entries()) {
    // The curve below GnuTLS's security levels: it reads it and does not sign with it.
    if (root === 'ec-224') continue;
    const args = ['--verify', '--load-ca-certificate', rootFile(root), '--infile', leafFile(at)];
    const verdict = run('certtool', ...args);
    assert.match(
      verdict.text,
      /Chain verification output: Verified\./,
      `${shape}: ${verdict.text}`,
    );
  }
});

const asksFor = (leaf: Issued, ...usages: string[]): boolean =>
  usages.some((usage) => [leaf.role.key_usage].flat().includes(usage));

/** Findings about what a caller asked for and the API promises to do, each with the shapes it may be in. */
const EXEMPT: [lint: string, applies: (leaf: Issued) => boolean, because: string][] = [
  [
    'e_ecdsa_allowed_ku',
    (leaf) => asksFor(leaf, 'KeyEncipherment', 'DataEncipherment'),
    'the key usages of a role stand in its certificates as they were written, and the default of the API has KeyEncipherment for every type of key',
  ],
  [
    'e_rsa_allowed_ku_ee',
    (leaf) => asksFor(leaf, 'KeyAgreement'),
    'the same default has KeyAgreement',
  ],
  [
    'e_key_usage_and_extended_key_usage_inconsistent',
    (leaf) => leaf.role.key_usage !== 'DigitalSignature',
    'key usages and purposes are fields of a role that are written apart; only those shapes set both',
  ],
  [
    'e_subject_common_name_max_length',
    (leaf) => leaf.shape.includes('a'.repeat(60)),
    'the API sets no limit on common names, and clients use host names of more than 64 characters',
  ],
];

const zlint = findTool('zlint-v3.6.0/zlint');
// Everything but the RFCs: rules of programmes for public certificates and of single companies.
const PROGRAMMES = 'Apple,CABF_BR,CABF_EV,CABF_SMIME_BR,Community,ETSI_ESI,Mozilla';
test('zlint finds no error by the RFCs', { skip: zlint.skip }, () => {
  const files = [...leaves.keys()].map(leafFile).concat(Object.keys(roots).map(rootFile));
  const verdict = run(zlint.path, '-excludeSources', PROGRAMMES, ...files);
  const lines = verdict.text.split('\n').filter((line) => line.startsWith('{'));
  assert.equal(lines.length, files.length, verdict.text.slice(0, 2000));
  const findings = new Map<string, string[]>();
  for (const [at, line] of lines.entries()) {
    const results: Record<string, { result: string; details?: string }> = JSON.parse(line);
    const leaf = leaves[at];
    for (const [lint, { result, details }] of Object.entries(results)) {
      if (result !== 'error' && result !== 'fatal') continue;
      if (leaf && EXEMPT.some(([name, applies]) => name === lint && applies(leaf))) continue;
      const told = `${leaf?.shape ?? files[at]} ${details ?? ''}`;
      findings.set(lint, [...(findings.get(lint) ?? []), told]);
    }
  }
  assert.deepEqual(Object.fromEntries(findings), {});
});
