import type { App } from '../../app/app.ts';
import { findSeal } from '../../seal/store.ts';

/** What clusters are called in answers; the one without a name of its own has that of the server, as `sys/health` tells it. */
export async function readClusterNames(app: App): Promise<(cluster: string) => string> {
  const unnamed = (await findSeal(app.db))?.cluster_name ?? '';
  return (cluster) => cluster || unnamed;
}
