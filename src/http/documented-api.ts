import type { z } from 'zod';
import type { Output } from '../app/output.ts';
import type { FurtherStatus, Method } from '../app/route.ts';
import type { FailureKind } from '../core/failure.ts';
import type { Json } from './json-schemas.ts';

/** How one API encodes its answers, as far as a document must know. */
export interface ApiStyle {
  /** What names of its own begin with, e.g. `Vault`. */
  name: string;
  /** What answers and refusals are encoded as, by name. */
  schemas: Readonly<Record<string, z.ZodType>>;
  /** Which of `schemas` is that of a refusal. */
  refusal: string;
  /** What more is to be said of refusals that every endpoint may give. */
  refused_everywhere?: string;
  /** What an endpoint answers with. @param ref to the schema of what it declares */
  answersOf(
    route: Pick<DocumentedRoute, 'output' | 'bytes' | 'status' | 'failures'>,
    ref: (payload: z.ZodType) => Json,
  ): readonly DocumentedAnswer[];
  status(kind: FailureKind): number;
  /** Content type of a PATCH; `application/merge-patch+json` unless told. */
  patch_type?: string;
}

/** One form of an answer; those of the same status and media type stand side by side. */
export interface DocumentedAnswer {
  status: number;
  /** In a few words, e.g. `no content`. */
  says: string;
  /** Absent: it has none. */
  body?: { media_type: string; schema: Json };
  /** What is declared of it, where it is JSON. */
  payload?: z.ZodType;
}

/** What of a route's declaration, of whichever API, a document tells. */
export interface DocumentedRoute {
  id: string;
  method: Method;
  path: string;
  summary: string;
  see?: readonly string[];
  access: 'public' | { capability?: string; sudo?: boolean; exists?: unknown; action?: string };
  input: z.ZodObject;
  /** Fields of `attributes`, by the subtypes that have them. */
  attributes?: Readonly<Record<string, z.ZodObject>>;
  /** Fields of the query, where the input's are those of the body alone. */
  query?: z.ZodObject;
  output: Output;
  /** The media type of an answer in place of `output`. */
  bytes?: string;
  status?: 202;
  /** Further statuses of the answer that is declared. */
  statuses?: readonly FurtherStatus[];
  failures: readonly FailureKind[];
  body?: 'json' | 'bytes';
}

/** Routes that are documented together: an engine at one path, or a whole API. */
export interface DocumentedApi {
  /** Groups the operations, e.g. `secrets`. */
  tag: string;
  style: ApiStyle;
  /** What the declared paths begin with, e.g. `/v1/auth/{mount}`. */
  prefix: string;
  /** What the document has in its place, e.g. `/auth/userpass` or `/auth/{userpass_mount_path}`. */
  at: string;
  /** The parameter in `at`, if it has one. */
  mount_parameter?: { name: string; by_default: string };
  /** Put before each operationId, so that two mounts of one engine can be told apart. */
  id_prefix?: string;
  routes: readonly DocumentedRoute[];
  /** Those that are declared with them: what some of all have in common has one name in every document. */
  all?: readonly DocumentedRoute[];
}

/** Names of the parameters in a route's own part of the path. */
export function pathParameters(route: Pick<DocumentedRoute, 'path'>): string[] {
  return [...route.path.matchAll(/\{(\w+)\+?\}/g)]
    .map((match) => match[1] ?? '')
    .filter((name) => name !== 'mount');
}
