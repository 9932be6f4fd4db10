import { type App, perApp } from '../../app/app.ts';

const countsOf = perApp((app) => {
  const counted = { writes: 0 };
  app.store.onWrite('pki_revocation', () => {
    counted.writes += 1;
  });
  return counted;
});

/** How often it was seen that revocations were written, by whatever thread of this process. */
export function revocationWrites(app: App): number {
  const counted = countsOf(app);
  app.store.catchUp();
  return counted.writes;
}
