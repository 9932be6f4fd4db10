import { isDeepStrictEqual } from 'node:util';
import type { SentWith } from '../../acl/access-request.ts';
import type { Acl } from '../../acl/acl.ts';
import type { FormedSegment, OwnPath, Sense } from '../../acl/name-form.ts';
import { OwnJudge } from '../../acl/own-judge.ts';
import { type AccessVerdict, ALLOWED } from '../../acl/verdict.ts';
import { fullPath, type Mount } from '../../app/mount.ts';
import type { AnyRoute, Method, SetElsewhere } from '../../app/route.ts';
import { foldName } from '../../core/fold.ts';

/** A permitted request. */
interface Permitted extends SentWith {
  mount: Mount;
  params: Readonly<Record<string, string>>;
  fields: Readonly<Record<string, unknown>>;
}

/**
 * Judges what a request sets by the policies of the other endpoints that can set the same. Only their denials and
 * conditions count: nothing need be granted there.
 */
export async function judgeElsewhere(
  acl: Acl,
  route: AnyRoute,
  request: Permitted,
): Promise<AccessVerdict> {
  const { sets_also: elsewhere = [] } = route;
  if (acl.root) return ALLOWED;
  for (const there of elsewhere) {
    const parameters = { ...flatten(request.fields, there.within), ...named(there, request) };
    const { when = there.fields } = there;
    const sets = (name: string): boolean => says(route, there, parameters[name], name);
    if (when.length > 0 && !when.flatMap((name) => namesOf(route, name)).some(sets)) continue;
    const own: OwnPath = { ...pathThere(route, there, request), ...senseOf(route, there, request) };
    const judge = new OwnJudge({ ...request, parameters });
    const verdict = await judge.judge(acl, [own]);
    if (!verdict.allowed) return verdict;
  }
  return ALLOWED;
}

/** What is deleted is not judged by fields, wherever it is. */
function senseOf(route: AnyRoute, there: SetElsewhere, { fields }: Permitted): Sense {
  const method: Method = there.method ?? route.method;
  if (method === 'LIST') return { isList: true };
  if (method === 'DELETE') return { alike: [] };
  const { shape } = route.input;
  const others = there.undeclared
    ? Object.keys(fields)
        .filter((name) => !(name in shape))
        .map(foldName)
    : [];
  const part = [...there.fields.flatMap((name) => namesOf(route, name)), ...others];
  return { part, isRead: method === 'GET' };
}

/** The name that a field has, and those that it had before. */
function namesOf({ old_names = {} }: AnyRoute, name: string): string[] {
  return [name, ...Object.keys(old_names).filter((old) => old_names[old] === name)];
}

/** The fields of an object that is a field, beside the others. */
function flatten(
  fields: Readonly<Record<string, unknown>>,
  within: string | undefined,
): Readonly<Record<string, unknown>> {
  const object = within === undefined ? undefined : fields[within];
  return typeof object === 'object' ? { ...fields, ...object } : fields;
}

/** What the path names here and a field there. */
function named({ path, fields }: SetElsewhere, { params }: Permitted): Record<string, string> {
  const isField = ([name]: [string, string]): boolean =>
    fields.includes(name) && !path.includes(`{${name}}`) && !path.includes(`{${name}+}`);
  return Object.fromEntries(Object.entries(params).filter(isField));
}

/** Whether a field says more than leaving it out would. */
function says(route: AnyRoute, { isNew }: SetElsewhere, sent: unknown, name: string): boolean {
  const field = route.input.shape[name];
  if (sent === undefined || sent === null || !field) return false;
  const [read, left] = [field.safeParse(sent), field.safeParse(undefined)];
  // What is refused sets nothing, but that is told to those alone who might set it.
  if (!read.success || !left.success) return true;
  return !isDeepStrictEqual(read.data, left.data) && !(isNew && isEmpty(read.data));
}

function isEmpty(value: unknown): boolean {
  return !value || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** Where the other endpoint is for what this request's path names. */
function pathThere(
  { name_forms = {} }: AnyRoute,
  { path: template }: SetElsewhere,
  { mount, params }: Pick<Permitted, 'mount' | 'params'>,
): OwnPath {
  const formed: FormedSegment[] = [];
  const segments: string[] = [];
  const inMount = template.replace('/v1/auth/{mount}/', '/v1/{mount}/');
  for (const segment of inMount.slice('/v1/'.length).split('/')) {
    const [, name = ''] = /^\{(\w+)\+?\}$/.exec(segment) ?? [];
    const form = name_forms[name];
    if (form) formed.push({ at: segments.length, form });
    const text = name === 'mount' ? fullPath(mount) : (params[name] ?? segment);
    segments.push(...text.replace(/\/$/, '').split('/'));
  }
  return { path: segments.join('/'), formed };
}
