import { generateKeyPairSync, sign } from 'node:crypto';
import { encodePem } from '../../src/core/pem.ts';
import { assembleSigned, encodeTbsCertificate } from '../../src/x509/certificate.ts';
import { basicConstraints, subjectAltName } from '../../src/x509/extensions.ts';
import { encodeSubject } from '../../src/x509/names.ts';

/** A server's certificates that take long to verify, and the root that they lead to; PEM. */
export interface CostlyChain {
  cert: string;
  key: string;
  root: string;
}

/** @param length certificates beneath the root, the server's own with them */
export function makeCostlyChain(name: string, length: number): CostlyChain {
  // Of the keys that are read those that verifying takes longest by.
  const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-521' });
  const subjectPublicKeyInfo = publicKey.export({ type: 'spki', format: 'der' });
  const nameOf = (at: number): Uint8Array => encodeSubject({ common_name: `${name} ${at}` });
  const certificateOf = (at: number): string => {
    const names = { dns: [name], email: [], ip: [], uri: [], other: [] };
    const tbs = encodeTbsCertificate({
      serialNumber: Buffer.of(1, at),
      signatureAlgorithm: 'ECDSAWithSHA512',
      issuer: nameOf(Math.min(at + 1, length)),
      notBefore: 1_750_000_000,
      notAfter: 4_000_000_000,
      subject: nameOf(at),
      subjectPublicKeyInfo,
      extensions: [at === 0 ? subjectAltName(names, false) : basicConstraints({ ca: true })],
    });
    const signed = assembleSigned(tbs, 'ECDSAWithSHA512', sign('sha512', tbs, key));
    return encodePem('CERTIFICATE', signed);
  };
  return {
    cert: Array.from({ length }, (_, at) => certificateOf(at)).join('\n'),
    key: String(key.export({ type: 'pkcs8', format: 'pem' })),
    root: certificateOf(length),
  };
}
