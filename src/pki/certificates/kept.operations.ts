import { type App, perApp } from '../../app/app.ts';
import { LastOf } from '../../core/kept.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { ROOMS } from '../../core/rooms.ts';
import type { Soon } from '../../core/steps.ts';
import { encodeCertificatePem } from '../mount-state/issuer.ts';
import { findCertificate, type StoredCertificate } from './store.ts';

/** What a row takes besides the certificate itself, which it may come to stand for as PEM, too. */
const ROW_BYTES = 512;
const WITH_PEM = 5 / 2;

/** A stored certificate as PEM, made once for each that is kept. */
export const storedPem = memoizeWeak(({ der }: StoredCertificate) => encodeCertificatePem(der));

/** Certificates that were read since the row of one was last changed or removed; anew after each such write. */
const keptCertificates = perApp((app) => {
  const weigh = ({ der }: StoredCertificate): number => ROW_BYTES + WITH_PEM * der.length;
  const make = () => new LastOf<StoredCertificate>(ROOMS.pki_certificates, weigh);
  const kept = { certificates: make() };
  app.store.onWrite('pki_certificate', () => {
    kept.certificates = make();
  });
  return kept;
});

/**
 * A stored certificate, kept between requests where every write passes through this process: its revocation is in force
 * before it is acknowledged.
 *
 * @param serial as of {@link findCertificate}
 */
export function findKeptCertificate(
  app: App,
  mount_id: string,
  serial: string,
): Soon<StoredCertificate | undefined> {
  if (app.store.engine !== 'sqlite') return findCertificate(app.db, mount_id, serial);
  app.store.catchUp();
  // What was read before a write goes into the former ones, which nobody reads again.
  const { certificates } = keptCertificates(app);
  const key = `${mount_id}/${serial}`;
  return (
    certificates.find(key) ??
    findCertificate(app.db, mount_id, serial).then((found) => {
      if (found) certificates.set(key, Object.freeze(found));
      return found;
    })
  );
}
