import { globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { parse } from 'acorn';
import { nodesOf } from './regular-expressions.ts';

/** The program's own files, without tests. */
export const SOURCES: readonly string[] = globSync('src/**/*.ts')
  .map((file) => normalize(file).replaceAll('\\', '/'))
  .filter((file) => !file.endsWith('.test.ts'))
  .sort();

/** One file takes something from another, or from a package. */
export interface Import {
  from: string;
  to: string;
  names: string;
  typeOnly: boolean;
}

const STATEMENT = /^(?:import|export) (type )?([^;]*?)from '([^']+)'/gm;
const CALL = /\bimport\('([^']+)'\)/g;

/** All imports, of values and of types, also those that are made while it runs. */
export const IMPORTS: readonly Import[] = SOURCES.flatMap((from) => {
  const text = readFileSync(from, 'utf8');
  const target = (to = ''): string => (to.startsWith('.') ? join(dirname(from), to) : to);
  const stated = [...text.matchAll(STATEMENT)].map((match) => ({
    from,
    to: target(match[3]),
    names: match[2] ?? '',
    typeOnly: match[1] !== undefined,
  }));
  const called = [...text.matchAll(CALL)].map((match) => ({
    from,
    to: target(match[1]),
    names: '',
    typeOnly: false,
  }));
  return [...stated, ...called];
});

/** Entries of a folder, files or folders, and which of them take something from which others in it. */
export type FolderGraph = Map<string, Set<string>>;

/** For each folder of the sources, what its entries take from one another, whatever lies in them. */
export function folderGraphs(imports: readonly Import[]): Map<string, FolderGraph> {
  const graphs = new Map<string, FolderGraph>();
  for (const { from, to } of imports) {
    if (!to.startsWith('src/')) continue;
    const [own, other] = [from.split('/'), to.split('/')];
    let depth = 0;
    while (own[depth] === other[depth] && depth < own.length - 1) depth += 1;
    const [a, b] = [own[depth], other[depth]];
    if (a === undefined || b === undefined || a === b) continue;
    const folder = own.slice(0, depth).join('/');
    const graph = graphs.get(folder) ?? new Map();
    graphs.set(folder, graph);
    graph.set(a, (graph.get(a) ?? new Set()).add(b));
  }
  return graphs;
}

/** A way that comes back to where it began, or undefined. */
export function findCircle(graph: FolderGraph): string[] | undefined {
  const done = new Set<string>();
  const walk = (entry: string, way: readonly string[]): string[] | undefined => {
    const at = way.indexOf(entry);
    if (at >= 0) return [...way.slice(at), entry];
    if (done.has(entry)) return undefined;
    for (const next of graph.get(entry) ?? []) {
      const circle = walk(next, [...way, entry]);
      if (circle) return circle;
    }
    done.add(entry);
    return undefined;
  };
  for (const entry of graph.keys()) {
    const circle = walk(entry, []);
    if (circle) return circle;
  }
  return undefined;
}

/** A function of a source, by where it begins and how many lines it has. */
export interface FunctionLines {
  line: number;
  lines: number;
}

/** All functions of a source, those within others included. */
export function listFunctions(text: string): FunctionLines[] {
  const found: FunctionLines[] = [];
  // Types become blanks: everything stays on its line.
  const script = stripTypeScriptTypes(text, { mode: 'strip' });
  const tree = parse(script, { ecmaVersion: 'latest', sourceType: 'module', locations: true });
  for (const node of nodesOf(tree)) {
    if (!/Function/.test(node.type) || !node.loc) continue;
    const { start, end } = node.loc;
    found.push({ line: start.line, lines: end.line - start.line + 1 });
  }
  return found;
}
