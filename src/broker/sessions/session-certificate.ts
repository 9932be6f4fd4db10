import { isIP } from 'node:net';
import { signSync } from '../../x509/algorithms.ts';
import { assembleSigned, encodeTbsCertificate } from '../../x509/certificate.ts';
import { bitString, oid, sequence } from '../../x509/der.ts';
import { basicConstraints, type Extension, subjectKeyIdentifier } from '../../x509/extensions.ts';
import { encodeSubjectAltName } from '../../x509/general-names.ts';
import { extKeyUsage, keyUsage } from '../../x509/key-usages.ts';
import { keyIdentifier } from '../../x509/keys.ts';
import { EXT_KEY_USAGE_OID, EXTENSION_OID, KEY_OID } from '../../x509/oids.ts';
import { sessionKey } from './session-key.ts';

/** What a session's certificate is made of. */
interface SessionCertificateRequest {
  session_id: string;
  /** `host:port` of every worker that may serve the session. */
  worker_addresses: readonly string[];
  /** 32 random bytes: the private key. */
  seed: Uint8Array;
  /** 8 random bytes, of which the first bit is not used. */
  serial: Uint8Array;
  /** Unix seconds. */
  now: number;
  expires_at: number;
}

interface SessionCertificate {
  /** DER. */
  certificate: Uint8Array;
  /** The seed and the public key, 64 bytes. */
  private_key: Uint8Array;
}

/** Clocks of workers and clients may differ by this many seconds. */
const BACKDATE = 60;

const EMPTY_NAME = sequence();
const ED25519 = sequence(oid(KEY_OID.ed25519));

function present(extension: Extension | undefined): Extension {
  if (!extension) throw new TypeError('an extension without a value');
  return extension;
}

const CONSTRAINTS = basicConstraints({ ca: true });
const USAGE = present(
  keyUsage(['DigitalSignature', 'KeyEncipherment', 'KeyAgreement', 'CertSign']),
);
const PURPOSES = present(extKeyUsage([EXT_KEY_USAGE_OID.ServerAuth, EXT_KEY_USAGE_OID.ClientAuth]));

/**
 * Makes the certificate that both ends of a session prove themselves with, and trust alone: it
 * is its own root.
 *
 * @see B-82
 */
export function makeSessionCertificate(request: SessionCertificateRequest): SessionCertificate {
  const { seed, session_id, now, expires_at } = request;
  const key = sessionKey(seed);
  const { x = '' } = key.export({ format: 'jwk' });
  const publicKey = Buffer.from(x, 'base64url');
  const subjectPublicKeyInfo = sequence(ED25519, bitString(publicKey));
  const tbs = encodeTbsCertificate({
    serialNumber: positive(request.serial),
    signatureAlgorithm: 'PureEd25519',
    issuer: EMPTY_NAME,
    notBefore: now - BACKDATE,
    notAfter: expires_at,
    subject: EMPTY_NAME,
    subjectPublicKeyInfo,
    extensions: [
      USAGE,
      PURPOSES,
      CONSTRAINTS,
      subjectKeyIdentifier(keyIdentifier(subjectPublicKeyInfo)),
      subjectAltName(session_id, request.worker_addresses),
    ],
  });
  return {
    certificate: assembleSigned(tbs, 'PureEd25519', signSync(key, 'PureEd25519', tbs)),
    private_key: Buffer.concat([seed, publicKey]),
  };
}

/** A positive number of 63 bits (RFC 5280 §4.1.2.2), and never 0. */
function positive(random: Uint8Array): Uint8Array {
  const serial = Uint8Array.from(random);
  serial[0] = (serial[0] ?? 0) & 0x7f;
  if (serial.every((byte) => byte === 0)) serial[serial.length - 1] = 1;
  return serial;
}

/** The session first, then the workers; critical, since there is no subject (RFC 5280 §4.2.1.6). */
function subjectAltName(session_id: string, addresses: readonly string[]): Extension {
  const hosts = [...new Set(addresses.map(hostOf))];
  const value = encodeSubjectAltName({
    dns: [session_id, ...hosts.filter((host) => isIP(host) === 0)],
    ip: hosts.filter((host) => isIP(host) !== 0),
    email: [],
    uri: [],
    other: [],
  });
  return { oid: EXTENSION_OID.subjectAltName, critical: true, value };
}

/** The host of `host:port`, without the brackets of an IPv6 address. */
export function hostOf(address: string): string {
  const bracketed = /^\[(.*)\](?::\d*)?$/.exec(address);
  if (bracketed) return bracketed[1] ?? '';
  const colon = address.lastIndexOf(':');
  // More than one colon and no brackets: an IPv6 address without a port.
  return colon < 0 || address.indexOf(':') !== colon ? address : address.slice(0, colon);
}
