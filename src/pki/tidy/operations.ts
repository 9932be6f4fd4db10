import type { z } from 'zod';
import { commitPlanned } from '../../access/standing/attempts.operations.ts';
import { refuseDenied, refuseDeniedNow } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { AcceptedResult, NothingResult } from '../../app/output.ts';
import { isConflict } from '../../core/failure.ts';
import { CERTIFICATES } from '../certificates/store.ts';
import { readCounts } from '../mount-state/counts.store.ts';
import { readMountState } from '../mount-state/operations.ts';
import { REVOCATIONS } from '../mount-state/revocations.store.ts';
import {
  type AutoTidy,
  type AutoTidyPatch,
  describeAutoTidy,
  isAnySelected,
  parseAutoTidy,
  planAutoTidy,
  planTidy,
  type tidySchema,
} from './fields.ts';
import { pathsOfAutomatic, pathsOfExpired } from './issuers.operations.ts';
import { goOnTidying } from './run.operations.ts';
import { describeStatus, isUnderWay, NO_RUN, parseRun, type TidyStatus } from './status.ts';
import { cancelRun, findTidyRow, IN_PROGRESS, saveAuto, startRun } from './store.ts';

const STARTED =
  'Tidy operation successfully started. Its progress and what it comes to are told by tidy-status.';
const NOTHING_SELECTED =
  'Manual tidy requested but no tidy operations were set. Enable at least one tidy operation to be run.';
const NOT_RUNNING = 'Tidy operation cannot be cancelled as none is currently running.';

/** Begins to tidy a mount; it is done by and by, whatever becomes of the request. @see P-350, P-351 */
export async function startTidying(
  app: App,
  caller: Caller,
  input: z.output<typeof tidySchema>,
): Promise<AcceptedResult | NothingResult> {
  const request = planTidy(input);
  const mount_id = caller.mount.id;
  const run_id = app.newId();
  const now_ms = app.now();
  const mountState = await readMountState(app, mount_id);
  const now = Math.floor(now_ms / 1000);
  await refuseDenied(caller, pathsOfExpired(caller, mountState, { now, request }));
  try {
    await app.commit(caller, [startRun(mount_id, { run_id, request, now_ms })]);
  } catch (error) {
    const row = isConflict(error) ? await findTidyRow(app.db, mount_id) : undefined;
    if (row && isUnderWay(parseRun(row))) return { warnings: [IN_PROGRESS] };
    throw error;
  }
  void goOnTidying(app, mount_id);
  const warnings = isAnySelected(request) ? [STARTED] : [NOTHING_SELECTED, STARTED];
  return { status: 202, warnings };
}

/** How the last tidying of the mount went, on whatever node. @see P-353 */
export async function readTidyStatus(app: App, caller: Caller): Promise<TidyStatus> {
  const mount_id = caller.mount.id;
  const row = await findTidyRow(app.db, mount_id);
  const { maintain_stored_certificate_counts } = parseAutoTidy(row?.auto ?? '');
  const counts = maintain_stored_certificate_counts && (await readCounts(app.db, mount_id));
  const stored = counts && {
    certificates: counts.get(CERTIFICATES) ?? 0,
    revocations: counts.get(REVOCATIONS) ?? 0,
  };
  return describeStatus(mount_id, row ? parseRun(row) : NO_RUN, stored || undefined);
}

/** Has a tidying stop before its next write set, on whatever node it is. @see P-352 */
export async function cancelTidying(app: App, caller: Caller) {
  const mount_id = caller.mount.id;
  const row = await findTidyRow(app.db, mount_id);
  const run = row && parseRun(row);
  if (!run || !isUnderWay(run)) return { warnings: [NOT_RUNNING] };
  try {
    await app.commit(caller, [cancelRun({ mount_id, run_id: run.run_id })]);
  } catch (error) {
    // It ended at the same moment.
    if (isConflict(error)) return { warnings: [NOT_RUNNING] };
    throw error;
  }
  return { data: await readTidyStatus(app, caller) };
}

export async function readAutoTidy(app: App, mount_id: string): Promise<AutoTidy> {
  const row = await findTidyRow(app.db, mount_id);
  return describeAutoTidy(parseAutoTidy(row?.auto ?? ''));
}

/** Changes the settings that are sent and keeps the others. */
export function writeAutoTidy(app: App, caller: Caller, patch: AutoTidyPatch): Promise<AutoTidy> {
  const mount_id = caller.mount.id;
  return commitPlanned<AutoTidy>(app, caller, async () => {
    const row = await findTidyRow(app.db, mount_id);
    const read = row?.auto ?? '';
    const present = parseAutoTidy(read);
    const next = planAutoTidy(present, patch);
    const change = { before: describeAutoTidy(present), next: describeAutoTidy(next) };
    const mountState = await readMountState(app, mount_id);
    await refuseDeniedNow(caller, pathsOfAutomatic(caller, mountState, change));
    const last_ms = row?.last_finished_at_ms ?? 0;
    const due_at_ms = next.enabled
      ? Math.max(app.now(), last_ms + next.interval_duration * 1000)
      : null;
    return {
      effects: [saveAuto(mount_id, { read, auto: JSON.stringify(next), due_at_ms })],
      result: describeAutoTidy(next),
    };
  });
}
