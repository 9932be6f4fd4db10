import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { encodePem } from '../../src/core/pem.ts';
import type { Certificate } from '../../src/x509/certificate.ts';
import { basicConstraints, type Extension } from '../../src/x509/extensions.ts';
import { type KeyUsage, keyUsage } from '../../src/x509/key-usages.ts';
import { makeCertificate } from './made-certificate.ts';

/** An authority that is not the server's, with its key (Ed25519). */
export interface Authority {
  name: string;
  key: KeyObject;
  certificate: Certificate;
  /** PEM, with a line feed at the end. */
  pem: string;
  keyPem: string;
}

export const newKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;

let made = 0;

/** @param of.by who signs it; itself unless told */
export function makeAuthority(
  name: string,
  of: {
    by?: Pick<Authority, 'name' | 'key'>;
    key?: KeyObject;
    ca?: boolean;
    usage?: readonly KeyUsage[];
    extensions?: readonly Extension[];
    serial?: Uint8Array;
  } = {},
): Authority {
  const key = of.key ?? newKey();
  const by = of.by ?? { name, key };
  made += 1;
  const certificate = makeCertificate({
    subject: name,
    issuer: by.name,
    key,
    signer: by.key,
    serial: of.serial ?? Uint8Array.of(1, made >> 8, made & 255),
    extensions: [
      ...(of.ca === false ? [] : [basicConstraints({ ca: true })]),
      ...[keyUsage(of.usage ?? [])].flatMap((usage) => usage ?? []),
      ...(of.extensions ?? []),
    ],
  });
  return {
    name,
    key,
    certificate,
    pem: encodePem('CERTIFICATE', certificate.raw, { trailingNewline: true }),
    keyPem: pkcs8Of(key),
  };
}

export const pkcs8Of = (key: KeyObject): string =>
  String(key.export({ type: 'pkcs8', format: 'pem' }));
