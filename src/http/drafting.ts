import { setImmediate as nextTurn } from 'node:timers/promises';
import { COMPATIBLE_VERSION } from '../core/version.ts';
import { type DocumentedApi, type Drafted, draftApi, writeOpenApi } from './openapi.ts';

/** Routes that are described before others get their turn. */
const ROUTES = 20;

export async function draftInTurns(drafted: Drafted, api: DocumentedApi): Promise<void> {
  for (let at = 0; at < api.routes.length; at += ROUTES) {
    draftApi(drafted, { ...api, routes: api.routes.slice(at, at + ROUTES) });
    await nextTurn();
  }
}

/** Pieces that are written before others get their turn. */
const PIECES = 100;

export async function writeDrafted(drafted: Drafted): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (const text of writeOpenApi(drafted, COMPATIBLE_VERSION)) {
    pieces.push(Buffer.from(text));
    if (pieces.length % PIECES === 0) await nextTurn();
  }
  return Buffer.concat(pieces);
}
