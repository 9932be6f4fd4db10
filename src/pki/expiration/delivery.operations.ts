import { type App, perApp } from '../../app/app.ts';
import type { JobRun } from '../../app/job.ts';
import { isConflict } from '../../core/failure.ts';
import { findMountById } from '../../mounts/operations.ts';
import { deliver } from './client.ts';
import { type Message, signatureOf, writeMail } from './message.ts';
import { type Counts, DeliveryFault, type Order } from './order.ts';
import { openSecret, readWarnings, type StoredWarnings } from './settings.operations.ts';
import { type Channel, usesChannel } from './settings.ts';
import {
  deleteMessage,
  deleteMessages,
  findMessage,
  listDue,
  listWaiting,
  putOff,
} from './store.ts';

/** Receivers that are told at once; as many of those that did not take what they were told last. */
const AT_ONCE = 4;
/** Receivers of one run; the others come with the next. */
const MOST_RECEIVERS = 200;
/** For one message that is posted, and for a mail server to say that it is there. */
const TIMEOUT_MS = 10_000;
/** For one mail: servers look through a message before they answer that they have taken it. */
const MAIL_TIMEOUT_MS = 60_000;
/** What one receiver may take of a run: others wait for its place. */
const LONGEST_TURN_MS = 15_000;
/** For so long a run begins with further receivers: those that are left come first in the next. */
const LONGEST_RUN_MS = 30_000;
/** How often the oldest message is tried before others are tried in its place. */
const PATIENCE = 3;
const FIRST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 3_600_000;

/** What this node has delivered, and not, since it started. */
export const deliveryCounts = perApp<Counts>(() => ({
  webhook: { delivered: 0, failed: 0 },
  mail: { delivered: 0, failed: 0 },
}));

interface Receiver {
  mount_id: string;
  channel: Channel;
}

/** Hands on what is due by one channel: several receivers at once, each its messages one after the other. */
export async function deliverDue(app: App, turn: JobRun, channel: Channel): Promise<void> {
  const due = await listDue(app.db, channel, { now_ms: app.now(), limit: MOST_RECEIVERS });
  const end = performance.now() + LONGEST_RUN_MS;
  const work = async (some: Iterable<{ mount_id: string }>): Promise<void> => {
    for (const { mount_id } of some) {
      if (turn.stopping || performance.now() > end) return;
      const receiver = { mount_id, channel };
      await deliverTo(app, turn, receiver).catch((err: unknown) => {
        if (!turn.stopping && !isConflict(err)) {
          app.log.warn({ err, ...receiver }, 'a warning was not delivered');
        }
      });
    }
  };
  // Apart: who did not take what it was told last keeps no others waiting.
  const lines = [true, false].map((isQuick) =>
    due.filter(({ attempts }) => (attempts === 0) === isQuick).values(),
  );
  await Promise.all(lines.flatMap((line) => Array.from({ length: AT_ONCE }, () => work(line))));
}

/**
 * Hands on what waits for a receiver, in its order, until one is not taken. One that was not for {@link PATIENCE} times may be refused
 * for what is in it: then another is tried as well, each time a further one, and what is behind that.
 */
async function deliverTo(app: App, turn: JobRun, receiver: Receiver): Promise<void> {
  const { mount_id, channel } = receiver;
  const end = performance.now() + LONGEST_TURN_MS;
  const waiting = await listWaiting(app.db, mount_id, channel);
  let hasFailed = false;
  for (let at = 0; at < waiting.length && !turn.stopping && performance.now() < end; at += 1) {
    const row = await findMessage(app.db, mount_id, channel, waiting[at] ?? '');
    if (!row) continue;
    const stored = await readWarnings(app, mount_id);
    if (!usesChannel(stored.settings, channel)) {
      await app.store.commit([turn.fence(), deleteMessages(mount_id, channel)]);
      return;
    }
    const counts = deliveryCounts(app)[channel];
    try {
      const { refused } = await deliver(app, planOrder(app, receiver, stored, row));
      if (refused > 0) app.log.warn({ ...receiver, refused }, 'the mail server refuses receivers');
    } catch (error) {
      if (turn.stopping) return;
      counts.failed += 1;
      if (hasFailed) return;
      hasFailed = true;
      await noteFailure(app, turn, receiver, { attempts: row.attempts + 1, error });
      if (row.attempts < PATIENCE) return;
      at += row.attempts % Math.max(1, waiting.length - at - 1);
      continue;
    }
    counts.delivered += row.certificates;
    // A crash in between sends it again, with the same id.
    await app.store.commit([turn.fence(), deleteMessage(row)]);
  }
}

async function noteFailure(
  app: App,
  turn: JobRun,
  receiver: Receiver,
  { attempts, error }: { attempts: number; error: unknown },
): Promise<void> {
  const { mount_id, channel } = receiver;
  const wait = Math.min(FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, 16), LONGEST_WAIT_MS);
  const mount = await findMountById(app, mount_id);
  const because = error instanceof DeliveryFault ? error.message : 'an unexpected error';
  const told = { mount: mount?.path, channel, attempts, because, next_in_ms: wait };
  app.log.warn(told, 'a warning was not taken by its receiver');
  await app.store.commit([turn.fence(), putOff({ mount_id, channel, attempts }, app.now() + wait)]);
}

/** @throws DeliveryFault where the server lacks what it takes */
function planOrder(
  app: App,
  { mount_id, channel }: Receiver,
  stored: StoredWarnings,
  { id, body }: { id: string; body: string },
): Order {
  const { settings } = stored;
  if (channel === 'mail') {
    const { smtp: server } = app.config;
    if (!server) throw new DeliveryFault('the configuration of the server has no smtp');
    const message: Message = JSON.parse(body);
    const times = { answer_ms: TIMEOUT_MS, timeout_ms: MAIL_TIMEOUT_MS };
    return { channel, server, to: settings.mail_to, id, ...writeMail(message), ...times };
  }
  const { webhooks: reach, listen, proxy_listen } = app.config;
  const secret = openSecret(app, mount_id, stored);
  const now = Math.floor(app.now() / 1000);
  const signature = secret && { 'gatehouse-signature': signatureOf(secret, body, now) };
  return {
    channel,
    url: settings.webhook_url,
    body,
    headers: { 'gatehouse-message': id, ...signature },
    ca: settings.webhook_ca,
    reach,
    listening: [listen.host, proxy_listen.host],
    timeout_ms: TIMEOUT_MS,
  };
}
