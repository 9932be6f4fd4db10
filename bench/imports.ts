// How long the import of a thousand authorities takes, and how quick certificates of a mount with a thousand are beside
// those of a mount with one: at rest, and right after changes of configuration elsewhere.
//
//   node bench/imports.ts [authorities] [certificates]

import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { encodePem } from '../src/core/pem.ts';
import { assembleSigned, encodeTbsCertificate } from '../src/x509/certificate.ts';
import { basicConstraints, subjectKeyIdentifier } from '../src/x509/extensions.ts';
import { keyIdentifier, publicKeyInfo } from '../src/x509/keys.ts';
import { encodeSubject } from '../src/x509/names.ts';
import { startHere } from './here.ts';

const AUTHORITIES = Number(process.argv[2] ?? 1000);
const CERTIFICATES = Number(process.argv[3] ?? 2000);
const ROUNDS = 40;

const server = await startHere();

const call = server.post;

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

interface Signer {
  name: string;
  key: KeyObject;
}

/** The certificate of an authority, PEM. */
function certify(at: number, { name, key }: Signer, by: Signer): string {
  const subjectPublicKeyInfo = publicKeyInfo(key);
  const tbs = encodeTbsCertificate({
    serialNumber: Uint8Array.of(1, at >> 8, at & 255),
    signatureAlgorithm: 'ECDSAWithSHA256',
    issuer: encodeSubject({ common_name: by.name }),
    notBefore: 1_750_000_000,
    notAfter: 4_000_000_000,
    subject: encodeSubject({ common_name: name }),
    subjectPublicKeyInfo,
    extensions: [
      basicConstraints({ ca: true }),
      subjectKeyIdentifier(keyIdentifier(subjectPublicKeyInfo)),
    ],
  });
  const signed = assembleSigned(tbs, 'ECDSAWithSHA256', sign('sha256', tbs, by.key));
  return encodePem('CERTIFICATE', signed, { trailingNewline: true });
}

const pemOf = ({ key }: Signer): string => String(key.export({ type: 'pkcs8', format: 'pem' }));

/** Authorities, with their keys or without, each signed by the root or by itself. */
function makeBundle(count: number, beneathRoot: boolean, withKeys: boolean): string {
  const root = { name: 'Root', key: newKey() };
  const texts: string[] = [];
  for (let at = 0; at < count; at++) {
    const one = at === 0 ? root : { name: `Authority ${at}`, key: newKey() };
    texts.push(certify(at, one, beneathRoot ? root : one));
    if (withKeys) texts.push(pemOf(one));
  }
  return texts.join('');
}

let mounts = 0;
async function importInto(what: string, pem_bundle: string): Promise<string> {
  mounts += 1;
  const mount = `ca${mounts}`;
  await call(`sys/mounts/${mount}`, { type: 'pki', config: { max_lease_ttl: '87600h' } });
  const began = performance.now();
  const text = await call(`${mount}/issuers/import/bundle`, { pem_bundle });
  const taken = performance.now() - began;
  const again = performance.now();
  await call(`${mount}/roles/web`, { allow_any_name: true, key_type: 'ec', max_ttl: '1h' });
  const { data } = JSON.parse(text);
  await call(`${mount}/config/issuers`, { default: data.imported_issuers[0] });
  const read = performance.now() - again;
  console.log(
    `${what}: ${taken.toFixed(0)} ms for ${data.imported_issuers.length} issuers and ${data.imported_keys?.length ?? 0} keys; ${read.toFixed(0)} ms until the next change of the mount`,
  );
  return mount;
}

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** Certificates a second, with a few at once. */
async function rateOf(mount: string): Promise<number> {
  const began = performance.now();
  const issueSome = async (): Promise<void> => {
    for (let at = 0; at < CERTIFICATES / 8; at++)
      await call(`${mount}/issue/web`, { common_name: 'a.test' });
  };
  await Promise.all(Array.from({ length: 8 }, issueSome));
  return (CERTIFICATES * 1000) / (performance.now() - began);
}

async function afterChange(mount: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await call('sys/policies/acl/p', { policy: `# ${mount} ${round}` });
    const began = performance.now();
    await call(`${mount}/issue/web`, { common_name: 'a.test' });
    times.push(performance.now() - began);
  }
  return medianOf(times);
}

try {
  const one = await importInto('one', makeBundle(1, false, true));
  await importInto('roots', makeBundle(AUTHORITIES, false, false));
  await importInto('beneath one root', makeBundle(AUTHORITIES, true, false));
  const many = await importInto('beneath one root, with keys', makeBundle(AUTHORITIES, true, true));
  for (const mount of [one, many]) await rateOf(mount);
  const ratios: number[] = [];
  for (let round = 0; round < 5; round++) {
    const [few, lots] = [await rateOf(one), await rateOf(many)];
    ratios.push(lots / few);
    console.log(
      `certificates a second: ${few.toFixed(0)} below one, ${lots.toFixed(0)} below many`,
    );
  }
  console.log(`ratio (median of 5): ${medianOf(ratios).toFixed(2)}`);
  const [few, lots] = [await afterChange(one), await afterChange(many)];
  console.log(
    `the next after a change of a policy: ${few.toFixed(1)} ms below one, ${lots.toFixed(1)} ms below many (median of ${ROUNDS})`,
  );
} finally {
  await server.stop();
}
