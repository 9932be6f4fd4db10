import { type App, perApp } from '../../app/app.ts';
import type { JobRun } from '../../app/job.ts';
import { isConflict } from '../../core/failure.ts';
import { findMountById } from '../../mounts/operations.ts';
import { deliver } from './client.ts';
import { type Message, signatureOf, writeMail } from './message.ts';
import { type Counts, DeliveryFault, type Order } from './order.ts';
import { openSecret, readWarnings, type StoredWarnings } from './settings.operations.ts';
import { type Channel, usesChannel } from './settings.ts';
import { deleteMessage, deleteMessages, findOldest, listDue, putOff } from './store.ts';

/** Receivers that are told at once; as many of those that did not take what they were told last. */
const AT_ONCE = 4;
/** Receivers of one run; the others come with the next. */
const MOST_RECEIVERS = 200;
/** For one message. */
const TIMEOUT_MS = 10_000;
/** What one receiver may take of a run: others wait for its place. */
const LONGEST_TURN_MS = 15_000;
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

/** Hands on what is due: several receivers at once, each its messages one after the other. */
export async function deliverDue(app: App, turn: JobRun): Promise<void> {
  const due = await listDue(app.db, app.now(), MOST_RECEIVERS);
  const quick = due.filter(({ attempts }) => attempts === 0).values();
  const tried = due.filter(({ attempts }) => attempts > 0).values();
  const work = async (some: Iterable<Receiver>): Promise<void> => {
    for (const { mount_id, channel } of some) {
      if (turn.stopping) return;
      const receiver = { mount_id, channel };
      await deliverTo(app, turn, receiver).catch((err: unknown) => {
        if (!turn.stopping && !isConflict(err)) {
          app.log.warn({ err, ...receiver }, 'a warning was not delivered');
        }
      });
    }
  };
  const places = Array.from({ length: AT_ONCE }, () => [work(quick), work(tried)]);
  await Promise.all(places.flat());
}

async function deliverTo(app: App, turn: JobRun, receiver: Receiver): Promise<void> {
  const { mount_id, channel } = receiver;
  const end = performance.now() + LONGEST_TURN_MS;
  while (!turn.stopping && performance.now() < end) {
    const row = await findOldest(app.db, mount_id, channel);
    if (!row) return;
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
      await noteFailure(app, turn, receiver, { attempts: row.attempts + 1, error });
      return;
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
  const timeout_ms = TIMEOUT_MS;
  if (channel === 'mail') {
    const { smtp: server } = app.config;
    if (!server) throw new DeliveryFault('the configuration of the server has no smtp');
    const message: Message = JSON.parse(body);
    return { channel, server, to: settings.mail_to, id, ...writeMail(message), timeout_ms };
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
    timeout_ms,
  };
}
