import type { App } from '../../app/app.ts';
import type { JobRun } from '../../app/job.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { findMountById } from '../../mounts/operations.ts';
import { readMountState } from '../mount-state/operations.ts';
import { readRevocationState } from '../mount-state/revocations.store.ts';
import { isDeltaDue, isOld } from './age.ts';
import { classIdOf, planClass } from './issuer-class.ts';
import { ALL, type CrlKind, DELTA, parseCrlName } from './kind.ts';
import { renewCrl } from './operations.ts';
import { readCrlConfig } from './settings.operations.ts';
import { readShardUrls } from './shards.operations.ts';
import { type CrlTimes, listCrlTimes } from './store.ts';

/** CRLs that are looked at in one question to the database. */
const PAGE = 500;

/**
 * Builds anew the CRLs that are due, though nobody reads them, those of all mounts. Only what was asked for at least once
 * is renewed. One that cannot be built keeps none of the others from it.
 */
export async function renewDueCrls(app: App, turn: Pick<JobRun, 'stopping'>): Promise<void> {
  const now = Math.floor(app.now() / 1000);
  const breath = new Breath();
  const failures: unknown[] = [];
  for (let last = { mount_id: '', class: '' }; ; ) {
    const page = await listCrlTimes.all(app.db, { ...last, limit: PAGE });
    for (const times of page) {
      if (turn.stopping) return;
      await breath.take();
      await renewIfDue(app, times, now).catch((error: unknown) => failures.push(error));
    }
    const end = page.at(-1);
    if (!end || page.length < PAGE) break;
    last = { mount_id: end.mount_id, class: end.class };
  }
  if (failures.length > 0 && !turn.stopping) {
    const [err] = failures;
    app.log.warn({ err, crls: failures.length }, 'some CRLs were not renewed');
  }
}

async function renewIfDue(app: App, times: CrlTimes, now: number): Promise<void> {
  const { mount_id } = times;
  if (!(await findMountById(app, mount_id))) return;
  const due = await findDue(app, times, now);
  if (!due) return;
  const { class_id } = parseCrlName(times.class);
  const mountState = await readMountState(app, mount_id);
  const issuer = [...mountState.issuers.values()].find((one) => classIdOf(one) === class_id);
  if (!issuer) return;
  await renewCrl(app, { mount_id, issuers: planClass(mountState, issuer), kind: due }, { now });
}

/** Which kind of CRL is due, by what little is known of a stored one; undefined: none. */
async function findDue(app: App, times: CrlTimes, now: number): Promise<CrlKind | undefined> {
  const { mount_id } = times;
  const config = await readCrlConfig(app, mount_id);
  const { kind, class_id } = parseCrlName(times.class);
  if (kind.of === ALL && !config.unified_crl) return undefined;
  if (kind.shard && (await readShardUrls(app, { mount_id, class_id }, kind)).length === 0) {
    return undefined;
  }
  if (!kind.delta) {
    // As long as no number was taken since, its delta is the one of the CRL before it.
    const hasDelta = config.enable_delta && !kind.shard;
    if (hasDelta && times.last_number === times.number) return { ...kind, ...DELTA };
    return isOld(times, config, now) ? kind : undefined;
  }
  if (!config.enable_delta) return undefined;
  if (isOld(times, config, now)) return kind;
  const { revision } = await readRevocationState(app.db, mount_id);
  return isDeltaDue(times, config, { now, revision }) ? kind : undefined;
}
