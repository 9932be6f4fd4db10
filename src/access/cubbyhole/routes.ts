import { z } from 'zod';
import { nothing } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { text } from '../../core/fields.ts';
import { isEntry, listEntries, readEntry, removeEntry, writeEntry } from './operations.ts';

const path = text().describe('Any name, with slashes for folders.');
const at = {
  on_any_thread: true,
  path: '/v1/{mount}/{path+}',
  path_forms: { path: /^[^/].*$/ },
  input: z.object({ path }),
} as const;
const folder = z.object({
  keys: z.array(z.string()).describe('What has more beneath it ends in a slash.'),
});

/** Endpoints of `cubbyhole/`: storage that belongs to the token it is used with, gone with it. */
export const cubbyholeRoutes: readonly AnyRoute[] = [
  vaultRoute({
    ...at,
    id: 'cubbyhole-read',
    method: 'GET',
    summary: "Read what is kept in the token's own storage",
    access: { capability: 'read' },
    output: z.record(z.string(), z.unknown()).describe('What is kept, as it was sent.'),
    failures: ['invalid', 'not_found'],
    run: readEntry,
  }),
  vaultRoute({
    ...at,
    id: 'cubbyhole-list',
    method: 'LIST',
    summary: "List a folder of the token's own storage",
    access: { capability: 'list' },
    output: folder,
    failures: ['invalid', 'not_found'],
    run: listEntries,
  }),
  vaultRoute({
    id: 'cubbyhole-list-all',
    on_any_thread: true,
    method: 'LIST',
    path: '/v1/{mount}/',
    summary: "List the token's own storage",
    access: { capability: 'list' },
    input: z.object({}),
    output: folder,
    failures: ['invalid', 'not_found'],
    run: (app, caller) => listEntries(app, caller, { path: '' }),
  }),
  vaultRoute({
    ...at,
    id: 'cubbyhole-write',
    method: 'POST',
    summary: "Keep something in the token's own storage",
    access: { capability: 'update', exists: isEntry },
    input: z.looseObject({ path }),
    output: nothing,
    failures: ['invalid', 'conflict'],
    max_body: 1 << 20,
    run: writeEntry,
  }),
  vaultRoute({
    ...at,
    id: 'cubbyhole-delete',
    method: 'DELETE',
    summary: "Delete something from the token's own storage",
    access: { capability: 'delete' },
    output: nothing,
    failures: ['invalid'],
    run: removeEntry,
  }),
];
