import { generateKeyPairSync, sign } from 'node:crypto';
import { encodePem } from '../../src/core/pem.ts';
import { assembleSigned, encodeTbsCertificate } from '../../src/x509/certificate.ts';
import { basicConstraints, subjectAltName } from '../../src/x509/extensions.ts';
import { encodeSubject } from '../../src/x509/names.ts';

// Of the keys that are read those that verifying takes longest by.
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' });
const subjectPublicKeyInfo = publicKey.export({ type: 'spki', format: 'der' });
const key = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
let serial = 0;

/** @param dns of a server; absent: of a CA */
function certificateOf(subject: string, issuer: string, dns?: string): string {
  const names = { dns: dns === undefined ? [] : [dns], email: [], ip: [], uri: [], other: [] };
  serial += 1;
  const tbs = encodeTbsCertificate({
    serialNumber: Buffer.of(1, serial >> 8, serial & 255),
    signatureAlgorithm: 'ECDSAWithSHA512',
    issuer: encodeSubject({ common_name: issuer }),
    notBefore: 1_750_000_000,
    notAfter: 4_000_000_000,
    subject: encodeSubject({ common_name: subject }),
    subjectPublicKeyInfo,
    extensions: [dns === undefined ? basicConstraints({ ca: true }) : subjectAltName(names, false)],
  });
  const signed = assembleSigned(tbs, 'ECDSAWithSHA512', sign('sha512', tbs, privateKey));
  return encodePem('CERTIFICATE', signed);
}

/** A server's certificates that take long to verify, and the root that they lead to; PEM. */
export interface CostlyChain {
  cert: string;
  key: string;
  root: string;
}

/** @param length certificates beneath the root, the server's own with them */
export function makeCostlyChain(name: string, length: number): CostlyChain {
  const nameOf = (at: number): string => `${name} ${Math.min(at, length)}`;
  const certificateAt = (at: number): string =>
    certificateOf(nameOf(at), nameOf(at + 1), at === 0 ? name : undefined);
  return {
    cert: Array.from({ length }, (_, at) => certificateAt(at)).join('\n'),
    key,
    root: certificateAt(length),
  };
}

/** What a server shows for a name, its key, and whom is trusted: among these two that have signed each other. */
export const makeLoopedChain = (name: string): { cert: string; key: string; ca: string } => ({
  cert: [certificateOf(name, 'a', name), certificateOf('a', 'c')].join('\n'),
  key,
  ca: [certificateOf('a', 'a'), certificateOf('c', 'd'), certificateOf('d', 'c')].join('\n'),
});
