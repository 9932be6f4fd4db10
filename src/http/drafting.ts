import { setImmediate as nextTurn } from 'node:timers/promises';
import { COMPATIBLE_VERSION } from '../core/version.ts';
import type { DocumentedApi } from './documented-api.ts';
import { prepareComponents } from './documented-schemas.ts';
import { type Draft, draftApi, writeOpenApi } from './openapi.ts';

/** Routes that are described before others get their turn. */
const ROUTES = 20;

export async function draftInTurns(draft: Draft, api: DocumentedApi): Promise<void> {
  const { all = api.routes } = api;
  let steps = 0;
  for (const _ of prepareComponents(api)) {
    steps += 1;
    if (steps % ROUTES === 0) await nextTurn();
  }
  for (let at = 0; at < api.routes.length; at += ROUTES) {
    draftApi(draft, { ...api, all, routes: api.routes.slice(at, at + ROUTES) });
    await nextTurn();
  }
}

/** Pieces that are written before others get their turn. */
const PIECES = 100;

export async function writeDrafted(draft: Draft): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (const text of writeOpenApi(draft, COMPATIBLE_VERSION)) {
    pieces.push(Buffer.from(text));
    if (pieces.length % PIECES === 0) await nextTurn();
  }
  return Buffer.concat(pieces);
}
