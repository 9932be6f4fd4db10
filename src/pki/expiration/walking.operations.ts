import { setImmediate as nextTurn } from 'node:timers/promises';
import type { App } from '../../app/app.ts';
import type { JobRun } from '../../app/job.ts';
import type { Mount } from '../../app/mount.ts';
import { isConflict } from '../../core/failure.ts';
import { findMountById } from '../../mounts/operations.ts';
import { holdMount } from '../../mounts/store.ts';
import { compareIds } from '../../store/in-blocks.ts';
import type { Effect } from '../../store/write.ts';
import { nameText } from '../../x509/names.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { readMountState } from '../mount-state/operations.ts';
import type { MountState } from '../mount-state/state.ts';
import { type Candidate, listEnding } from './candidates.store.ts';
import { describeEnding, type Ending, type Message } from './message.ts';
import { readWarnings } from './settings.operations.ts';
import { CHANNELS, type Channel, usesChannel, type WarningSettings } from './settings.ts';
import {
  type Cursor,
  holdWarnings,
  insertMessage,
  listWarned,
  readCursors,
  readWaiting,
  saveCursor,
} from './store.ts';
import { IssuerSuccessors, Successors } from './successors.operations.ts';
import { chooseThreshold } from './thresholds.ts';

/** Certificates that are looked at together, and told of in one message. */
const PAGE = 200;
const MOUNTS = 100;
/** Messages that wait for one receiver: beyond that nothing is looked at until some are taken. */
const MOST_WAITING = 64;
const SHOWN_NAMES = 20;

/** Looks at what ends soon, mount by mount, and puts what somebody is to be told on its way. */
export async function lookAhead(app: App, turn: JobRun): Promise<void> {
  for (let after = ''; ; ) {
    const mounts = await listWarned(app.db, after, MOUNTS);
    for (const mount_id of mounts) {
      if (turn.stopping) return;
      await lookAtMount(app, turn, mount_id).catch((err: unknown) => {
        // One that cannot be read, or is being changed, holds up no other.
        if (!turn.stopping && !isConflict(err))
          app.log.warn({ err, mount_id }, 'certificates were not looked at');
      });
    }
    if (mounts.length < MOUNTS) return;
    after = mounts.at(-1) ?? after;
  }
}

/** One walk: by one time ahead, for one receiver. */
interface Walk {
  app: App;
  turn: JobRun;
  mount: Mount;
  settings: WarningSettings;
  version: number;
  state: MountState;
  successors: IssuerSuccessors;
  channel: Channel;
  ahead: number;
  /** Unix seconds, the same for all times ahead: which of them is the nearest is decided by it. */
  now: number;
}

async function lookAtMount(app: App, turn: JobRun, mount_id: string): Promise<void> {
  const mount = await findMountById(app, mount_id);
  const { settings, version } = await readWarnings(app, mount_id);
  if (!mount) return;
  const state = await readMountState(app, mount_id);
  const successors = new IssuerSuccessors(state.issuers);
  const now = Math.floor(app.now() / 1000);
  for (const channel of CHANNELS.filter((one) => usesChannel(settings, one))) {
    const cursors = await readCursors(app.db, mount_id, channel);
    for (const ahead of settings.before) {
      const of = { mount, settings, version, state, successors, channel, ahead, now };
      await walkOn({ app, turn, ...of }, cursors.get(ahead));
    }
  }
}

/** @param read how far it had got; undefined: it begins with what ends from now on */
async function walkOn(walk: Walk, read: Cursor | undefined): Promise<void> {
  const { app, turn, mount, channel, now } = walk;
  const begin = { not_after: now, serial: '', issuer_not_after: now, issuer_id: '' };
  for (let stored = read; !turn.stopping; ) {
    const waiting = await readWaiting(app.db, mount.id, channel);
    if (waiting.count >= MOST_WAITING) return;
    const { endings, next, isLast } = await lookAtPage(walk, stored ?? begin);
    if (stored && isSame(stored, next)) return;
    await commitPage(walk, { stored, next, endings, waiting });
    stored = next;
    if (isLast) return;
    await nextTurn();
  }
}

const isSame = (a: Cursor, b: Cursor): boolean =>
  a.not_after === b.not_after &&
  a.serial === b.serial &&
  a.issuer_not_after === b.issuer_not_after &&
  a.issuer_id === b.issuer_id;

interface Looked {
  endings: Ending[];
  next: Cursor;
  isLast: boolean;
}

async function lookAtPage(walk: Walk, from: Cursor): Promise<Looked> {
  const { app, mount, ahead, now } = walk;
  const issuers = listIssuersEnding(walk, from);
  const rows = await listEnding(app.db, mount.id, { from, to: now + ahead, limit: PAGE });
  const [lastIssuer, lastRow] = [issuers.at(-1), rows.at(-1)];
  const next = {
    not_after: lastRow?.not_after ?? from.not_after,
    serial: lastRow?.serial ?? from.serial,
    issuer_not_after: lastIssuer?.certificate.notAfter ?? from.issuer_not_after,
    issuer_id: lastIssuer?.id ?? from.issuer_id,
  };
  const endings = [
    ...issuers.flatMap((issuer) => describeIssuerEnding(walk, issuer)),
    ...(await describeAll(walk, rows)),
  ];
  return { endings, next, isLast: issuers.length < PAGE && rows.length < PAGE };
}

function listIssuersEnding({ state, now, ahead }: Walk, from: Cursor): Issuer[] {
  const { issuer_not_after, issuer_id } = from;
  return [...state.issuers.values()]
    .filter(({ id, certificate: { notAfter } }) => {
      const isAfter = notAfter === issuer_not_after ? id > issuer_id : notAfter > issuer_not_after;
      return isAfter && notAfter <= now + ahead;
    })
    .sort((a, b) => a.certificate.notAfter - b.certificate.notAfter || compareIds(a.id, b.id))
    .slice(0, PAGE);
}

function describeIssuerEnding(walk: Walk, issuer: Issuer): Ending[] {
  const { settings, successors, ahead, now } = walk;
  const { id, certificate, revoked_at_ms } = issuer;
  const { notBefore: not_before, notAfter: not_after, serial } = certificate;
  const isMeant =
    settings.issuers.length > 0 ? settings.issuers.includes(id) : settings.roles.length === 0;
  if (!isMeant || revoked_at_ms !== undefined) return [];
  if (chooseThreshold(settings.before, { not_before, not_after }, now) !== ahead) return [];
  if (successors.has(issuer)) return [];
  const common_name = nameText(certificate.subjectName);
  const facts = { serial, issuer_id: id, role: '', common_name, not_before, not_after };
  return [describeEnding({ kind: 'issuer', ...facts }, { names: [], count: 0 }, now)];
}

async function describeAll(walk: Walk, rows: readonly Candidate[]): Promise<Ending[]> {
  const { app, mount, settings, ahead, now, turn } = walk;
  const successors = new Successors(app.db, mount.id, walk.state.issuers);
  const own = endsOfIssuers(walk.state);
  const endings: Ending[] = [];
  for (const row of rows) {
    const { serial, issuer_id, role, subject_cn: common_name, not_before, not_after } = row;
    if (row.revoked_at_ms !== null || own.get(serial) === not_after) continue;
    if (!isAmong(settings.roles, role) || !isAmong(settings.issuers, issuer_id)) continue;
    if (chooseThreshold(settings.before, row, now) !== ahead) continue;
    if (turn.stopping) throw new Error('the server is stopping or sealed');
    // One with thousands of names takes some milliseconds.
    await nextTurn();
    const { has, names, count } = await successors.look(row, SHOWN_NAMES);
    if (has) continue;
    const facts = { serial, issuer_id, role, common_name, not_before, not_after };
    endings.push(describeEnding({ kind: 'certificate', ...facts }, { names, count }, now));
  }
  return endings;
}

const isAmong = (listed: readonly string[], one: string): boolean =>
  listed.length === 0 || listed.includes(one);

/** An authority's certificate is told of as an issuer, not again as one that the mount has stored. */
const endsOfIssuers = ({ issuers }: MountState): ReadonlyMap<string, number> =>
  new Map(
    issuers.values().map(({ certificate: { serial, notAfter } }) => [serial, notAfter] as const),
  );

interface Page {
  stored: Cursor | undefined;
  next: Cursor;
  endings: readonly Ending[];
  waiting: { attempts: number; next_at_ms: number };
}

/** What is told and that it was: both or neither, by one node, while the settings are what was read. */
async function commitPage(walk: Walk, { stored, next, endings, waiting }: Page): Promise<void> {
  const { app, turn, mount, version, channel, ahead } = walk;
  const key = { mount_id: mount.id, channel, ahead };
  const effects: Effect[] = [
    turn.fence(),
    holdMount({ id: mount.id }),
    holdWarnings(mount.id, version),
    saveCursor(key, stored, next),
  ];
  if (endings.length > 0) {
    const message = messageOf(walk, endings);
    const { attempts } = waiting;
    effects.push(
      insertMessage({
        mount_id: mount.id,
        channel,
        id: message.id,
        created_at_ms: app.now(),
        attempts,
        // Behind a receiver that does not answer it waits as long as the others.
        next_at_ms: Math.max(attempts > 0 ? waiting.next_at_ms : 0, app.now()),
        certificates: endings.length,
        body: JSON.stringify(message),
      }),
    );
  }
  await app.store.commit(effects);
}

const messageOf = ({ app, mount, ahead }: Walk, certificates: readonly Ending[]): Message => ({
  id: app.newId(),
  type: 'certificates.ending',
  created_at: new Date(app.now()).toISOString(),
  server: app.config.api_address,
  mount: mount.path,
  before: ahead,
  certificates,
});
