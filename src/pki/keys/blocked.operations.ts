import type { App } from '../../app/app.ts';
import { invalid } from '../../core/failure.ts';
import { keyFingerprint } from '../../x509/keys.ts';
import { findBlockedKey } from './blocked.store.ts';

/**
 * Refuses a key of which the mount has a certificate that was revoked because somebody else may have the key.
 *
 * @param subjectPublicKeyInfo DER
 * @throws Failure `invalid`
 * @see P-265
 */
export async function refuseBlockedKey(
  app: App,
  mount_id: string,
  subjectPublicKeyInfo: Uint8Array,
): Promise<void> {
  const blocked = await findBlockedKey(app.db, mount_id, keyFingerprint(subjectPublicKeyInfo));
  if (!blocked) return;
  throw invalid(
    `refusing to certify a blocked key: the certificate ${blocked.serial} was revoked for keyCompromise`,
    { fields: { csr: 'a request for a key that nobody else has' } },
  );
}
