import type { App } from '../../app/app.ts';
import { ownWorker } from '../../broker/workers/embedded.operations.ts';
import { SERVER_NAME } from '../../broker/workers/root/leaf.ts';
import { listEgressWorkers } from '../../broker/workers/selection.operations.ts';
import type { Tunnel } from '../../broker/workers/tunnels.ts';
import type { ReachRules } from '../../config/reach-rules.ts';
import { Failure } from '../../core/failure.ts';
import type { Tickets } from '../carrying/tickets.ts';
import type { Errand } from '../wire/hop.ts';
import { within } from './asking.ts';
import { sendFar } from './operations.ts';
import { type Sender, sendersOf } from './senders.ts';
import { openTunnelTo } from './tunnel.ts';

const MOST_ASKED = 3;
/** Each of them. */
const PATIENCE_MS = 10_000;

const NOBODY = 'no worker that the filter admits reaches the address';

/**
 * Opens a way through a worker: it dials an endpoint and brings the connection to this server, where workers
 * come to.
 *
 * @returns undefined where this server's own worker is admitted
 * @throws Failure `unresolved` when no worker can reach it
 */
export async function openTunnel(
  app: App,
  tickets: Tickets,
  { filter, endpoint, reach }: { filter: string; endpoint: string; reach: ReachRules },
): Promise<Tunnel | undefined> {
  const senders = sendersOf(app);
  const workers = await listEgressWorkers(app, filter);
  if (workers.some(({ id }) => id === ownWorker(app)?.id)) return undefined;
  const address = app.config.worker_address;
  const near = workers.filter(({ id }) => senders.has(id));
  const far = address === undefined ? [] : workers.filter(({ id }) => !senders.has(id));
  for (const { id: worker_id } of [...near, ...far].slice(0, MOST_ASKED)) {
    try {
      const { secure } = await tickets.meet(async (ticket) => {
        const errand = { endpoint, worker_id: SERVER_NAME, ticket, reach };
        const sender = senders.get(worker_id);
        if (sender) await bringSoon(sender, { ...errand, address: '' });
        else await sendFar(app, worker_id, { ...errand, address: address ?? '' }, PATIENCE_MS);
        return { worker_id };
      });
      return await openTunnelTo(secure);
    } catch (err) {
      app.log.warn(
        { err, worker_id },
        'a worker could not reach what it was sent to for this server',
      );
    }
  }
  throw new Failure('unresolved', NOBODY);
}

/** @throws Failure `unresolved` when it hangs: others may reach it */
async function bringSoon(sender: Sender, errand: Errand): Promise<void> {
  const brought = await within(sender.bring(errand), PATIENCE_MS);
  if (!brought) throw new Failure('unresolved', 'the worker does not answer');
}
