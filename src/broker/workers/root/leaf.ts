import { signSync } from '../../../x509/algorithms.ts';
import { assembleSigned, encodeTbsCertificate } from '../../../x509/certificate.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  type Extension,
  subjectAltName,
  subjectKeyIdentifier,
} from '../../../x509/extensions.ts';
import { extKeyUsage, keyUsage } from '../../../x509/key-usages.ts';
import { keyIdentifier, publicKeyInfo } from '../../../x509/keys.ts';
import { encodeSubject } from '../../../x509/names.ts';
import { EXT_KEY_USAGE_OID } from '../../../x509/oids.ts';
import { ROOT_NAME, type Root, rootKey } from './root.ts';

/** How long a certificate of a worker, or of a server towards workers, is good; renewed at half of it. */
export const LEAF_MS = 14 * 86_400_000;
/** Random bytes that {@link makeLeaf} takes. */
export const LEAF_RANDOMNESS = 16;

/** What workers call any server of theirs; workers are called by their id. */
export const SERVER_NAME = 'gatehouse-server';

const BACKDATE_MS = 5 * 60_000;

/** A certificate under a root of workers, for either end of a connection between servers and workers. */
export function makeLeaf(
  root: Pick<Root, 'seed' | 'not_after_ms'>,
  request: {
    name: string;
    subjectPublicKeyInfo: Uint8Array;
    random: Uint8Array;
    from_ms: number;
  },
): { certificate: Uint8Array; not_after_ms: number } {
  const { name, subjectPublicKeyInfo, from_ms } = request;
  const serial = request.random.slice(0, LEAF_RANDOMNESS);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const key = rootKey(root.seed);
  const notBefore = Math.floor((from_ms - BACKDATE_MS) / 1000);
  const notAfter = Math.floor(Math.min(from_ms + LEAF_MS, root.not_after_ms) / 1000);
  const extensions: (Extension | undefined)[] = [
    basicConstraints({ ca: false }),
    keyUsage(['DigitalSignature']),
    extKeyUsage([EXT_KEY_USAGE_OID.ServerAuth, EXT_KEY_USAGE_OID.ClientAuth]),
    subjectKeyIdentifier(keyIdentifier(subjectPublicKeyInfo)),
    authorityKeyIdentifier(keyIdentifier(publicKeyInfo(key))),
    subjectAltName({ dns: [name], ip: [], email: [], uri: [], other: [] }, false),
  ];
  const tbs = encodeTbsCertificate({
    serialNumber: serial,
    signatureAlgorithm: 'PureEd25519',
    issuer: encodeSubject({ common_name: ROOT_NAME }),
    subject: encodeSubject({ common_name: name }),
    notBefore,
    notAfter,
    subjectPublicKeyInfo,
    extensions: extensions.filter((extension) => extension !== undefined),
  });
  return {
    certificate: assembleSigned(tbs, 'PureEd25519', signSync(key, 'PureEd25519', tbs)),
    not_after_ms: notAfter * 1000,
  };
}
