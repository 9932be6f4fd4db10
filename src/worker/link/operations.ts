import type { App } from '../../app/app.ts';
import { listKnownKeys } from '../../broker/workers/enrolment.store.ts';
import { tunnelsOf } from '../../broker/workers/tunnels.ts';
import { openTunnel } from '../hops/tunnels.operations.ts';
import { type AddressedCut, cutsOf } from '../upstream.ts';
import { WorkerListener } from './listener.ts';
import { NOT_KNOWN_CODE } from './messages.ts';

const NOT_KNOWN = 'the worker’s key is not known any more';

/** This server's connections to workers that stand alone: what it does about them at intervals. */
interface Linking {
  /** Tells each of them what is over of what it carries, and which of its connections are besides. */
  cut(cuts: readonly AddressedCut[], lost: ReadonlyMap<string, string[]>): void;
  /** Closes those whose key is not known any more. Never throws. */
  check(): Promise<void>;
  /** Proves itself under the root in use. */
  renew(root: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Lets workers that stand alone come, if the configuration says where to.
 *
 * @throws Error with a `code` when the address cannot be had
 */
export async function beginLinking(app: App): Promise<Linking | undefined> {
  const at = app.config.worker_listen;
  if (!at) return undefined;
  const listener = new WorkerListener(app);
  const address = await listener.listen(at);
  app.log.info({ address }, 'workers that stand alone may come');
  tunnelsOf(app).open = (filter, endpoint, reach) =>
    openTunnel(app, listener.tickets, { filter, endpoint, reach });
  return {
    cut: (cuts, lost) => {
      for (const link of listener.links) {
        link.cut(cutsOf(cuts, link.worker_id), lost.get(link.worker_id));
      }
    },
    async check() {
      if (app.barrier.sealed) return;
      try {
        const links = [...listener.links];
        if (links.length === 0) return;
        const known = await listKnownKeys(
          app.db,
          links.map((link) => link.key_sha256),
          app.now(),
        );
        for (const link of links) {
          if (!known.has(link.key_sha256)) link.close(NOT_KNOWN, NOT_KNOWN_CODE);
          else if (link.isSilent) link.close('nothing was heard of the worker');
        }
      } catch (err) {
        app.log.warn({ err }, 'workers could not be looked after');
      }
    },
    renew: (root) => listener.renew(root),
    close: () => listener.close(),
  };
}
