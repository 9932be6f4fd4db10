import type { App } from '../../app/app.ts';

/** How often it was seen that revocations were written, by whatever thread of this process; all of them count alike. */
export function revocationWrites({ store }: App): number {
  store.catchUp();
  return store.seen('pki_revocation');
}
