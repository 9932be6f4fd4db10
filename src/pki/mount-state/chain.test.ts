import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { heapUsed } from '../../../test/support/heap.ts';
import { makeCertificate } from '../../../test/support/made-certificate.ts';
import { authorityKeyIdentifier, subjectKeyIdentifier } from '../../x509/extensions.ts';
import { type ChainMember, planChains } from './chain.ts';

/** Keys that were looked at: as often as a signature was verified. */
let looks = 0;

const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;

interface Made {
  key?: KeyObject;
  name: string;
  /** Whose key signs it, and what that is called. */
  signer: KeyObject;
  issuer: string;
}

function makeMember(id: string, { key = newKey(), name, signer, issuer }: Made): ChainMember {
  const certificate = makeCertificate({ subject: name, issuer, key, signer });
  const { subjectPublicKeyInfo } = certificate;
  Object.defineProperty(certificate, 'subjectPublicKeyInfo', {
    get() {
      looks += 1;
      return subjectPublicKeyInfo;
    },
  });
  return { id, certificate, manual_chain: null };
}

async function chainOf(members: readonly ChainMember[], id: string): Promise<string> {
  const { chains } = await planChains(members, async () => {});
  return (chains.get(id) ?? []).join(' ');
}

const [rootKey, otherKey, caKey] = [newKey(), newKey(), newKey()];
const root = makeMember('root', { key: rootKey, name: 'Root', signer: rootKey, issuer: 'Root' });
const again = makeMember('again', { key: rootKey, name: 'Root', signer: otherKey, issuer: 'Old' });
const same = makeMember('same', { key: otherKey, name: 'Root', signer: otherKey, issuer: 'Root' });
const elsewhere = makeMember('else', { key: rootKey, name: 'X', signer: rootKey, issuer: 'X' });
const ca = makeMember('ca', { key: caKey, name: 'CA', signer: rootKey, issuer: 'Root' });
const back = makeMember('back', { key: rootKey, name: 'Root', signer: caKey, issuer: 'CA' });

const cases: [what: string, members: ChainMember[], id: string, chain: string][] = [
  ['goes up to the root', [ca, root], 'ca', 'ca root'],
  ['is a root alone', [ca, root], 'root', 'root'],
  ['has the self-signed one first', [ca, again, root], 'ca', 'ca root again'],
  ['is without one of the name that has another key', [ca, same], 'ca', 'ca'],
  ['is without one of the key that has another name', [ca, elsewhere], 'ca', 'ca'],
  ['ends where it comes round', [ca, back], 'ca', 'ca back'],
];

// The signatures by it cannot be verified.
const foreignKey = generateKeyPairSync('ec', { namedCurve: 'brainpoolP256r1' }).privateKey;
const foreign = makeMember('foreign', {
  key: foreignKey,
  name: 'Root',
  signer: rootKey,
  issuer: 'Root',
});
cases.push(
  ['is without one whose key is not supported', [ca, root, foreign], 'ca', 'ca root'],
  ['of a key that is not supported goes up', [ca, root, foreign], 'foreign', 'foreign root'],
  ['of a key that is not supported may be alone', [ca, foreign], 'foreign', 'foreign'],
);

for (const [what, members, id, chain] of cases) {
  test(`a chain ${what}`, async () => {
    assert.equal(await chainOf(members, id), chain);
    assert.equal(await chainOf([...members].reverse(), id), chain, 'whichever was there first');
  });
}

/** Members of one name, each signed with the key of the next. */
function makeRing(count: number): { members: ChainMember[]; keys: KeyObject[] } {
  const keys = Array.from({ length: count }, newKey);
  const members = keys.map((key, at) => {
    const signer = keys[(at + 1) % count] ?? key;
    return makeMember(`${at}`, { key, name: 'Same', signer, issuer: 'Same' });
  });
  return { members, keys };
}

const upFrom = (first: number): string =>
  Array.from({ length: 20 }, (_, at) => `${(first + at) % 20}`).join(' ');

test('each pair of a name is verified once, also beside others', async () => {
  const { members, keys } = makeRing(20);
  assert.equal(await chainOf(members.slice(0, 2), '0'), '0 1');
  looks = 0;
  assert.equal(await chainOf(members, '5'), upFrom(5));
  assert.equal(looks, 20 - 2 + 20 * 19 - 2, 'all but those that were together before');
  looks = 0;
  assert.equal(await chainOf(members, '7'), upFrom(7));
  assert.equal(looks, 0);
  const [, key = rootKey] = keys;
  const more = makeMember('more', { key, name: 'Same', signer: rootKey, issuer: 'Y' });
  assert.equal(await chainOf([...members, more], '0'), `${upFrom(0)} more`);
  assert.equal(looks, 20, 'the new one by all: nobody has the name of its own issuer');
});

test('of many of a name those are tried that the certificate names, and few others', async () => {
  const identified = (id: string, signer: KeyObject, key: KeyObject, own: string, by: string) => {
    const extensions = [
      subjectKeyIdentifier(Buffer.from(own)),
      authorityKeyIdentifier(Buffer.from(by)),
    ];
    const issuer = 'Same';
    const certificate = makeCertificate({ subject: 'Same', issuer, key, signer, extensions });
    return { id, certificate, manual_chain: null };
  };
  const keys = Array.from({ length: 100 }, newKey);
  const members = keys.map((key, at) =>
    identified(`${at}`, keys[at + 1] ?? key, key, `key ${at}`, `key ${at + 1}`),
  );
  const { chains, signers } = await planChains(members, async () => {});
  assert.equal(chains.get('0')?.length, 32);
  assert.equal(chains.get('90')?.join(' '), '90 91 92 93 94 95 96 97 98 99');
  assert.equal(signers.get('98'), '99');
  assert.equal(signers.get('99'), undefined, 'it signed itself');

  looks = 0;
  await chainOf(makeRing(100).members, '0');
  assert.equal(looks, 100 + 100 * 32);
});

test('what is known of a pair of a name takes a few bytes', async () => {
  let least = Number.POSITIVE_INFINITY;
  // The least of some: what is compiled meanwhile takes memory as well.
  for (let at = 0; at < 4; at++) {
    const { members } = makeRing(120);
    const before = heapUsed();
    await chainOf(members, '0');
    least = Math.min(least, (heapUsed() - before) / (120 * 119));
    assert.equal(members.length, 120);
  }
  assert.ok(least < 20, `${least} bytes of heap for each pair`);
});
