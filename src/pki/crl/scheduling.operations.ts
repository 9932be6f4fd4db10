import type { App } from '../../app/app.ts';
import { notedInOnePlace } from '../../app/one-for-all.ts';
import type { ToldPlace } from './building.operations.ts';
import { COMPLETE, type CrlKind, crlName } from './kind.ts';
import { readCrl } from './operations.ts';
import { crlMemory } from './publishing.operations.ts';
import { planRest } from './rest.ts';

/**
 * Has the CRL of an issuer built soon, off the request's path.
 *
 * @param kind another than the complete one; where there is none of it, that one is built
 */
export function scheduleCrl(
  app: App,
  mount_id: string,
  issuer_id: string,
  kind: CrlKind = COMPLETE,
): void {
  schedule(app, { mount_id, issuer_id, kind });
}

const schedule = notedInOnePlace('pki/crl/schedule', (app, told: ToldPlace) => {
  const { mount_id, issuer_id, kind } = told;
  const { scheduled, durations } = crlMemory(app);
  const slot = `${mount_id}/${crlName(issuer_id, kind)}`;
  if (scheduled.has(slot)) return;
  const timer = setTimeout(
    () => {
      scheduled.delete(slot);
      readFirst(app, mount_id, issuer_id, kind).catch((err: unknown) => {
        if (!app.barrier.sealed) app.log.warn({ err }, 'a CRL was not built');
      });
    },
    planRest(durations, mount_id, kind.shard && countShards(scheduled, mount_id) + 1),
  );
  timer.unref();
  scheduled.set(slot, timer);
});

const countShards = (scheduled: ReadonlyMap<string, unknown>, mount_id: string): number =>
  scheduled
    .keys()
    .filter((slot) => slot.includes('/shard=') && slot.startsWith(`${mount_id}/`))
    .reduce((count) => count + 1, 0);

async function readFirst(app: App, mount_id: string, ref: string, kind: CrlKind): Promise<void> {
  const isThere = await readCrl(app, mount_id, ref, kind);
  if (!isThere && kind.shard) await readCrl(app, mount_id, ref);
}
