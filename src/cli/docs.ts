import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeSettingsTable } from '../config/reference.ts';
import { settings } from '../config/settings.ts';
import type { Schema } from '../config/shape.ts';
import { COMPATIBLE_VERSION } from '../core/version.ts';
import { BOUNDARY_STYLE } from '../http/boundary/wire.ts';
import { buildOpenApi } from '../http/openapi.ts';
import { type ReferencePage, writeReference } from '../http/reference.ts';
import { VAULT_STYLE } from '../http/vault/documented.ts';
import { declaredRoutes } from '../start/routes.ts';
import { listWholeApi } from '../start/specs.ts';
import { workerSettings } from '../worker/alone/settings.ts';
import type { Arguments } from './arguments.ts';
import type { Command } from './command.ts';

/** Pages with a table of all settings, and where those are declared. */
const GUIDES: readonly [page: string, from: string, settings: Schema][] = [
  ['configuration.md', 'src/config/settings.ts', settings],
  ['workers.md', 'src/worker/alone/settings.ts', workerSettings],
];

/** The API reference, from the route declarations, and the tables of all settings. */
export const docsCommand: Command = {
  usage: 'docs [flags]',
  summary: 'write the API reference and the tables of settings',
  flags: {
    out: { value: 'DIR', help: 'where to write (docs/api)' },
    guides: { value: 'DIR', help: 'of pages with tables of settings (docs/guides)' },
    check: { value: true, help: 'write nothing; fail when what is there is out of date' },
  },
  run: async ({ flags }) => writeDocs(flags),
};

function writeDocs(flags: Arguments['flags']): number {
  const directory = flags.get('out') ?? 'docs/api';
  const guides = GUIDES.map(([name, from, declared]) => {
    const file = join(flags.get('guides') ?? 'docs/guides', name);
    const page = readFileSync(file, 'utf8');
    return { file, page, described: putSettings(page, from, declared) };
  });
  const files = buildDocs();
  if (flags.has('check')) {
    const stale = listStale(directory, files);
    for (const name of stale) console.error(`gatehouse: ${join(directory, name)} is out of date`);
    const older = guides.filter(({ page, described }) => described !== page);
    for (const { file } of older) console.error(`gatehouse: ${file} is out of date`);
    const isStale = stale.length + older.length > 0;
    if (isStale) console.error('gatehouse: run npm run docs');
    return isStale ? 1 : 0;
  }
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of files) writeFileSync(join(directory, name), text);
  for (const { file, described } of guides) writeFileSync(file, described);
  const written = guides.map(({ file }) => file).join(', ');
  console.log(`${files.size} files written to ${directory}, and tables of settings to ${written}`);
  return 0;
}

const ENDS = '\n<!-- End of what is written -->';

/** The page with the table of settings as they are declared now. */
function putSettings(page: string, from: string, declared: Schema): string {
  const begins = `<!-- Written by \`npm run docs\` from ${from} -->\n\n`;
  const [before, rest] = page.split(begins);
  const [, after] = rest?.split(ENDS) ?? [];
  if (before === undefined || after === undefined) throw new Error('the page has no table');
  return `${before}${begins}${writeSettingsTable(declared)}${ENDS}${after}`;
}

/** Names of files that are missing, differ or should not be there. */
function listStale(directory: string, files: ReadonlyMap<string, string>): string[] {
  const found = new Set(existsSync(directory) ? readdirSync(directory) : []);
  const differing = [...files].filter(
    ([name, text]) => !found.has(name) || readFileSync(join(directory, name), 'utf8') !== text,
  );
  return [...differing.map(([name]) => name), ...[...found].filter((name) => !files.has(name))];
}

/** Every file of the reference by its name: the OpenAPI document and a page for each engine. */
function buildDocs(): ReadonlyMap<string, string> {
  const { system, secret, auth, broker } = declaredRoutes;
  const engines = [
    ...Object.entries(secret).map(([type, routes]) => ({ kind: 'secret' as const, type, routes })),
    ...Object.entries(auth).map(([type, routes]) => ({ kind: 'auth' as const, type, routes })),
  ];
  const document = buildOpenApi(listWholeApi(declaredRoutes), COMPATIBLE_VERSION);
  const pages = new Map<string, ReferencePage>([
    ['system.md', { title: 'The server: sys/', intro: INTRO, style: VAULT_STYLE, routes: system }],
    ...engines.map(({ kind, type, routes }): [string, ReferencePage] => [
      kind === 'auth' ? `auth-${type}.md` : `${type}.md`,
      {
        title: kind === 'auth' ? `Auth method ${type}` : `Engine ${type}`,
        intro: `${INTRO} \`{mount}\` is where the engine is mounted.`,
        style: VAULT_STYLE,
        routes,
      },
    ]),
  ]);
  pages.set('broker.md', {
    title: 'The access broker',
    intro: BROKER_INTRO,
    style: BOUNDARY_STYLE,
    routes: broker,
  });
  const index = [...pages].map(([name, { title }]) => `- [${title}](${name})`);
  return new Map([
    ['openapi.json', `${JSON.stringify(document, null, 1)}\n`],
    ['README.md', ['# API reference', '', ABOUT, '', ...index, ''].join('\n')],
    ...[...pages].map(([name, page]): [string, string] => [name, writeReference(page)]),
  ]);
}

const INTRO = '`LIST path` may be sent as `GET path?list=true`, and `PUT` is the same as `POST`.';
const BROKER_INTRO =
  'A token goes into `Authorization: Bearer`. What is shown of a resource, and whether it is found in a list, depends on grants.';
const ABOUT =
  'Generated by `npm run docs` from the route declarations. A running server gives the same as an OpenAPI document under `/v1/sys/internal/specs/openapi`; [openapi.json](openapi.json) is that document for every engine.';
