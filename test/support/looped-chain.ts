import { generateKeyPairSync, sign } from 'node:crypto';
import { encodePem } from '../../src/core/pem.ts';
import { assembleSigned, encodeTbsCertificate } from '../../src/x509/certificate.ts';
import { basicConstraints, subjectAltName } from '../../src/x509/extensions.ts';
import { encodeSubject } from '../../src/x509/names.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const subjectPublicKeyInfo = publicKey.export({ type: 'spki', format: 'der' });
let serial = 0;

function certificateOf(subject: string, issuer: string, dns?: string): string {
  const names = { dns: dns === undefined ? [] : [dns], email: [], ip: [], uri: [], other: [] };
  serial += 1;
  const tbs = encodeTbsCertificate({
    serialNumber: Buffer.of(1, serial),
    signatureAlgorithm: 'ECDSAWithSHA256',
    issuer: encodeSubject({ common_name: issuer }),
    notBefore: 1_750_000_000,
    notAfter: 4_000_000_000,
    subject: encodeSubject({ common_name: subject }),
    subjectPublicKeyInfo,
    extensions: [dns === undefined ? basicConstraints({ ca: true }) : subjectAltName(names, false)],
  });
  const signed = assembleSigned(tbs, 'ECDSAWithSHA256', sign('sha256', tbs, privateKey));
  return encodePem('CERTIFICATE', signed);
}

/** What a server shows for a name, its key, and whom is trusted: among these two that have signed each other. */
export const makeLoopedChain = (name: string): { cert: string; key: string; ca: string } => ({
  cert: [certificateOf(name, 'a', name), certificateOf('a', 'c')].join('\n'),
  key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  ca: [certificateOf('a', 'a'), certificateOf('c', 'd'), certificateOf('d', 'c')].join('\n'),
});
