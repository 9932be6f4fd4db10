import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import { encodePem } from '../../src/core/pem.ts';
import { assembleSigned, encodeTbsCertificate } from '../../src/x509/certificate.ts';
import { integer, sequence, unsignedInteger } from '../../src/x509/der.ts';
import { basicConstraints, subjectAltName } from '../../src/x509/extensions.ts';
import { encodeSubject } from '../../src/x509/names.ts';
import { bytesOf, inverse } from './rsa-numbers.ts';

/** A server's certificates that take long to verify, and the root that they lead to; PEM. */
export interface CostlyChain {
  cert: string;
  key: string;
  root: string;
}

const numberOf = (text = ''): bigint =>
  BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`);

/** A key whose public exponent is as long as its modulus: verifying by it takes milliseconds. */
function costlyKey(): KeyObject {
  const { p, q } = generateKeyPairSync('rsa', { modulusLength: 3072 }).privateKey.export({
    format: 'jwk',
  });
  const [first, second] = [numberOf(p), numberOf(q)];
  const order = (first - 1n) * (second - 1n);
  let exponent = order - 3n;
  let secret = inverse(exponent, order);
  while ((exponent * secret) % order !== 1n) {
    exponent -= 2n;
    secret = inverse(exponent, order);
  }
  const numbers = [first * second, exponent, secret, first, second];
  const rest = [secret % (first - 1n), secret % (second - 1n), inverse(second, first)];
  const fields = [...numbers, ...rest].map((number) => unsignedInteger(bytesOf(number)));
  const der = Buffer.from(sequence(integer(0), ...fields));
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs1' });
}

/** @param length certificates beneath the root, the server's own with them */
export function makeCostlyChain(name: string, length: number): CostlyChain {
  const key = costlyKey();
  const subjectPublicKeyInfo = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const nameOf = (at: number): Uint8Array => encodeSubject({ common_name: `${name} ${at}` });
  const certificateOf = (at: number): string => {
    const names = { dns: [name], email: [], ip: [], uri: [], other: [] };
    const tbs = encodeTbsCertificate({
      serialNumber: Buffer.of(1, at),
      signatureAlgorithm: 'SHA256WithRSA',
      issuer: nameOf(Math.min(at + 1, length)),
      notBefore: 1_750_000_000,
      notAfter: 4_000_000_000,
      subject: nameOf(at),
      subjectPublicKeyInfo,
      extensions: [at === 0 ? subjectAltName(names, false) : basicConstraints({ ca: true })],
    });
    const signed = assembleSigned(tbs, 'SHA256WithRSA', sign('sha256', tbs, key));
    return encodePem('CERTIFICATE', signed);
  };
  return {
    cert: Array.from({ length }, (_, at) => certificateOf(at)).join('\n'),
    key: String(key.export({ type: 'pkcs8', format: 'pem' })),
    root: certificateOf(length),
  };
}
