import type { App } from '../../app/app.ts';
import { invalid } from '../../core/failure.ts';
import type { Write } from '../../store/write.ts';
import type { Certificate } from '../../x509/certificate.ts';
import { keyFingerprint } from '../../x509/keys.ts';
import { blockKey, findBlockedKey, holdUnblockedKey } from './blocked.store.ts';

/**
 * Refuses a key of which the mount has a certificate that was revoked because somebody else may have the key.
 *
 * @param subjectPublicKeyInfo DER
 * @returns what refuses a write set that certifies it once it is blocked; goes behind what holds the issuer
 * @throws Failure `invalid`
 * @see P-265, P-336
 */
export async function requireUnblockedKey(
  app: App,
  mount_id: string,
  subjectPublicKeyInfo: Uint8Array,
): Promise<Write> {
  const key_sha256 = keyFingerprint(subjectPublicKeyInfo);
  const blocked = await findBlockedKey(app.db, mount_id, key_sha256);
  if (!blocked) return holdUnblockedKey({ mount_id, key_sha256 });
  throw invalid(
    `refusing to certify a blocked key: the certificate ${blocked.serial} was revoked, since others may have its key`,
    { fields: { csr: 'a request for a key that nobody else has' } },
  );
}

/** Blocks the key of a certificate that is revoked since others may have it. @see P-265 */
export function planBlock(
  mount_id: string,
  { serial, subjectPublicKeyInfo }: Certificate,
  blocked_at_ms: number,
): Write[] {
  const key_sha256 = keyFingerprint(subjectPublicKeyInfo);
  return blockKey({ mount_id, key_sha256, serial, blocked_at_ms });
}

/** The same of one that was revoked before; nothing where its key is blocked already. */
export async function planLateBlock(
  app: App,
  mount_id: string,
  certificate: Certificate,
): Promise<Write[]> {
  const key_sha256 = keyFingerprint(certificate.subjectPublicKeyInfo);
  if (await findBlockedKey(app.db, mount_id, key_sha256)) return [];
  return planBlock(mount_id, certificate, app.now());
}
