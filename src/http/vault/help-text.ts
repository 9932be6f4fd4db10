import { fullPath, type Mount } from '../../app/mount.ts';
import type { AnyRoute, Method } from '../../app/route.ts';
import { inputSchemaOf } from '../json-schemas.ts';
import type { PathRoutes } from './router.ts';

const METHODS: readonly Method[] = ['GET', 'LIST', 'POST', 'PATCH', 'DELETE'];

/** What is declared at one path, in an order that is always the same. */
export function listRoutes(routes: PathRoutes): AnyRoute[] {
  return METHODS.flatMap((method) => routes[method] ?? []);
}

/** A declared path without what all of its engine begin with: `roles/{name}`. */
export function patternOf(route: AnyRoute, prefix: string): string {
  return route.path.slice(prefix.length + 1).replace('+}', '}');
}

/**
 * Describes what may be asked for at a path, as `path-help` of the command lines prints it.
 *
 * @param asked the path without its mount, as it was sent
 * @param routes of that path
 */
export function describePath(asked: string, routes: readonly AnyRoute[], prefix: string): string {
  const [first] = routes;
  const parameters = parametersOf(routes).flatMap(({ name, type, description }) => [
    `${indent(4, name)} (${type})`,
    '',
    indent(8, description),
    '',
  ]);
  return `${[
    `Request:        ${asked}`,
    `Matching Route: ${first ? patternOf(first, prefix) : ''}`,
    '',
    first?.summary ?? '',
    '',
    ...(parameters.length > 0 ? ['## PARAMETERS', '', ...parameters] : []),
    '## DESCRIPTION',
    '',
    ...routes.map((route) => indent(4, `${route.method}: ${route.summary}${needOf(route)}`)),
  ].join('\n')}\n`;
}

/** Describes a mount by all the paths that its engine declares. */
export function describeRoot(
  mount: Pick<Mount, 'kind' | 'path' | 'type'>,
  routes: readonly AnyRoute[],
  prefix: string,
): string {
  const byPath = Map.groupBy(routes, (route) => patternOf(route, prefix));
  const paths = [...byPath].sort(([a], [b]) => (a < b ? -1 : 1));
  return `${[
    '## DESCRIPTION',
    '',
    `The ${mount.kind === 'auth' ? 'auth method' : 'engine'} "${mount.type}", mounted at "${fullPath(mount)}".`,
    '',
    '## PATHS',
    '',
    'What is in braces stands for a name. Ask for help at any of these paths to see what it takes; whether',
    'you may use it is up to the policies of your token.',
    '',
    ...paths.flatMap(([path, [first]]) => [
      indent(4, path || '/'),
      indent(8, first?.summary ?? ''),
      '',
    ]),
  ].join('\n')}`;
}

function needOf({ access }: AnyRoute): string {
  if (access === 'public') return ' (without a token)';
  const { capability, sudo, exists } = access;
  return ` (${exists ? 'create or ' : ''}${capability}${sudo ? ' and sudo' : ''})`;
}

interface Parameter {
  name: string;
  type: string;
  description: string;
}

/** Fields of all operations of a path, each once. */
function parametersOf(routes: readonly AnyRoute[]): Parameter[] {
  const byName = new Map<string, Parameter>();
  for (const route of routes) {
    const { properties = {} } = inputSchemaOf(route.input) as {
      properties?: Record<string, object>;
    };
    for (const [name, schema] of Object.entries(properties)) {
      if (!byName.has(name)) byName.set(name, parameterOf(name, schema));
    }
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function parameterOf(name: string, schema: { type?: unknown; description?: unknown }): Parameter {
  const { type, description } = schema;
  return {
    name,
    type: typeof type === 'string' ? type : 'any',
    description: typeof description === 'string' ? description : '',
  };
}

const indent = (columns: number, text: string): string => `${' '.repeat(columns)}${text}`;
