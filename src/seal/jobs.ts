import { type App, perApp } from '../app/app.ts';
import type { TransitSeal } from '../config/seal-settings.ts';
import { noteTokenStanding } from './seal-token.operations.ts';
import {
  isRenewed,
  judgeToken,
  type SealToken,
  type TokenStanding,
  waitForToken,
} from './seal-token.ts';
import { doesItsWork, lookUpToken, renewToken } from './transit.client.ts';

/**
 * Renews the token of a transit seal from the start of the server until it stops, sealed or not: the next start needs
 * it. Unlike periodic jobs, every node does this for itself, with the token of its own configuration.
 */
export function startRenewing(app: App): void {
  const { seal } = app.config;
  if (seal.type !== 'transit') return;
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const goOn = async (): Promise<void> => {
    const wait = await renewOnce(app, seal, stopping.signal);
    if (stopping.signal.aborted) return;
    timer = setTimeout(() => void goOn(), wait);
    timer.unref();
  };
  app.onClose(() => {
    stopping.abort();
    clearTimeout(timer);
  });
  void goOn();
}

const PROBE_BYTES = 32;

/** Seconds that the token had when it was seen last. */
const lastOf = perApp<{ ttl: number | undefined; at: number }>(() => ({ ttl: undefined, at: 0 }));

/** @returns milliseconds until the next time; never throws */
async function renewOnce(app: App, seal: TransitSeal, stopped: AbortSignal): Promise<number> {
  const last = lastOf(app);
  try {
    const token = await lookUpToken(seal, stopped);
    // Its policies may let one be renewed that may not look itself up.
    const asks = token === undefined || isRenewed(token);
    const ttl = asks ? await renewToken(seal, stopped) : undefined;
    const left = ttl ?? token?.ttl;
    Object.assign(last, { ttl: left, at: app.now() });
    const ends_at =
      left === undefined ? undefined : new Date(app.now() + left * 1000).toISOString();
    if (ttl !== undefined) app.log.info({ ends_at }, 'the token of the transit seal was renewed');
    // What it may do with the key is taken away without a word about the token.
    const works = await doesItsWork(seal, app.randomBytes(PROBE_BYTES), stopped);
    const standing = works ? standingOf(token, ttl) : 'refused';
    noteTokenStanding(app, standing, { address: seal.address, ends_at });
    return waitForToken(standing, left);
  } catch (error) {
    if (stopped.aborted) return 0;
    const why = error instanceof Error ? error.message : String(error);
    const left = last.ttl === undefined ? undefined : last.ttl - (app.now() - last.at) / 1000;
    const wait = waitForToken('unreachable', left);
    noteTokenStanding(app, 'unreachable', { why });
    return wait;
  }
}

function standingOf(token: SealToken | undefined, ttl: number | undefined): TokenStanding {
  if (token) return judgeToken(token, ttl);
  return ttl === undefined ? 'unattended' : 'fine';
}
