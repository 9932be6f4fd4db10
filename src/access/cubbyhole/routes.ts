import { z } from 'zod';
import { undeclared } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';
import { isEntry, listEntries, readEntry, removeEntry, writeEntry } from './operations.ts';

const path = text().describe('Any name, with slashes for folders.');
const anything = undeclared;
const at = {
  path: '/v1/{mount}/{path+}',
  path_forms: { path: /^[^/].*$/ },
  input: z.object({ path }),
  output: anything,
} as const;

/** Endpoints of `cubbyhole/`: storage that belongs to the token it is used with, gone with it. */
export const cubbyholeRoutes: readonly AnyRoute[] = [
  vaultRoute({
    ...at,
    id: 'cubbyhole-read',
    method: 'GET',
    summary: "Read what is kept in the token's own storage",
    access: { capability: 'read' },
    failures: ['not_found'],
    run: readEntry,
  }),
  vaultRoute({
    ...at,
    id: 'cubbyhole-list',
    method: 'LIST',
    summary: "List a folder of the token's own storage",
    access: { capability: 'list' },
    failures: ['not_found'],
    run: listEntries,
  }),
  vaultRoute({
    id: 'cubbyhole-list-all',
    method: 'LIST',
    path: '/v1/{mount}/',
    summary: "List the token's own storage",
    access: { capability: 'list' },
    input: z.object({}),
    output: anything,
    failures: ['not_found'],
    run: (app, caller) => listEntries(app, caller, { path: '' }),
  }),
  vaultRoute({
    ...at,
    id: 'cubbyhole-write',
    method: 'POST',
    summary: "Keep something in the token's own storage",
    access: { capability: 'update', exists: isEntry },
    input: z.looseObject({ path }),
    failures: ['invalid'],
    max_body: 1 << 20,
    run: writeEntry,
  }),
  vaultRoute({
    ...at,
    id: 'cubbyhole-delete',
    method: 'DELETE',
    summary: "Delete something from the token's own storage",
    access: { capability: 'delete' },
    failures: [],
    run: removeEntry,
  }),
];
