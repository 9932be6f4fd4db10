import type { z } from 'zod';
import type { NameForm } from '../acl/name-form.ts';
import type { FailureKind } from '../core/failure.ts';
import type { App } from './app.ts';
import type { Caller } from './caller.ts';
import { checkOf } from './input.ts';
import { type Encoding, encodingOf, type Output, type ResultOf } from './output.ts';
import type { VaultResult } from './result.ts';

export type Method = 'GET' | 'LIST' | 'POST' | 'PATCH' | 'DELETE';
/** One by itself, or all with the same first digit. */
export type FurtherStatus = number | '2XX' | '3XX' | '4XX' | '5XX';
export type Capability = 'read' | 'list' | 'create' | 'update' | 'patch' | 'delete';

interface Access {
  capability: Capability;
  /** The path is root-protected: `sudo` is needed besides. */
  sudo?: boolean;
  /**
   * For writes that need `create` when the thing is new and `update` when it is there;
   * without it a write always needs `capability`.
   */
  exists?(app: App, caller: Caller, params: Readonly<Record<string, string>>): Promise<boolean>;
}

/** Another endpoint, by which the same is set, done or read. */
export interface SetElsewhere {
  /** As it is declared, with parameters that this endpoint's path has, too. */
  path: `/v1/${string}`;
  /** Where it is read or listed here: how it is there; as here unless told. */
  method?: 'GET' | 'LIST';
  /**
   * By which it is set here: they are held against what policies say of that endpoint. They may be
   * parameters of this endpoint's path that the other path does not have.
   */
  fields: readonly string[];
  /** So are those that are sent and that this endpoint does not declare. */
  undeclared?: boolean;
  /** A field of this endpoint that is an object, whose fields are meant as well. */
  within?: string;
  /** It is made here: fields with nothing in them, which clients send, set nothing. */
  isNew?: boolean;
  /** One of these has to say something, by default one of `fields`; none: it is set whatever is sent. */
  when?: readonly string[];
}

/** One endpoint, whole: what it does, who may call it, what goes in and out, what it is for. */
export interface Route<In extends z.ZodObject, Out extends Output> extends Declaration<In, Out> {
  run(app: App, caller: Caller, input: z.output<In>): Promise<ResultOf<Out>>;
}

/** What is declared of an endpoint besides what it does. */
interface Declaration<In extends z.ZodObject = z.ZodObject, Out extends Output = Output> {
  /** The operationId that clients of this API already know. */
  id: string;
  method: Method;
  /**
   * OpenAPI template: `/v1/{mount}/roles/{name}`, `/v1/auth/{mount}/login/{username}`,
   * `/v1/sys/mounts/{path}`. A last segment `{path+}` takes the rest of the path.
   */
  path: `/v1/${string}`;
  summary: string;
  /** Sections of the standards implemented here, e.g. `RFC 6960 §4.2`. */
  see?: readonly string[];
  /** Checked before `run`. `public` is spelt out, so that openness is never an oversight. */
  access: 'public' | Access;
  /** Public, but a token that comes along is looked at (what it may see is shown). */
  identify?: boolean;
  /**
   * The field that takes the request's own token where it was not sent: the token is what is
   * asked about and need not be one that may call anything.
   */
  token_field?: string;
  /** Answered also while the server is sealed or not initialised. */
  while_sealed?: boolean;
  /** It seals the server: its answer comes after that. */
  seals?: boolean;
  /**
   * Where several threads answer, any of them answers it: nothing that it goes by is kept in the memory of one but what the
   * store counts (`Store.catchUp`). What is not declared so is answered by one for all. A function says it by the configuration.
   */
  on_any_thread?: true | ((app: App) => boolean);
  input: In;
  output: Out;
  /** Of an answer that tells of what is only begun; by default 200, or 204 where there is nothing to say. */
  status?: 202;
  /** Others of the same answer, which say how something is; ranges where whoever asks may choose. 304: of a dated one. */
  statuses?: readonly FurtherStatus[];
  /** Refusals a client should be ready for; they become the documented error responses. */
  failures: readonly FailureKind[];
  /** Request fields that the audit record may hold as they are. Everything else stays out of it. */
  audit?: readonly string[];
  /** Fields that are objects, and what of each a record may hold. */
  audit_within?: Readonly<Record<string, readonly string[]>>;
  /**
   * Fields of `audit` in whose place people send a secret now and then. Where such a request is refused,
   * and the operation has not recognised what was sent, its record has their hashes.
   */
  mistaken?: readonly string[];
  /**
   * Fields of `audit` that say where something is, or have fields that do. Where such a request is refused, its record
   * has the hash of each text of them that may have a user and a password, in whatever form it is.
   */
  places?: readonly string[];
  /** Relying parties read it: it is served by the listener for them as well. Public, and without any secret. */
  relying_parties?: true;
  /** Public reads of which only a count is kept. */
  counted?: boolean;
  /** The body's form: `json` (default), or bytes as they come, given to `run` as `input.body`. */
  body?: 'json' | 'bytes';
  /** Largest body in bytes; by default 64 KiB on public endpoints, 1 MiB elsewhere. */
  max_body?: number;
  /**
   * With `bytes`: a body longer than that comes as no bytes at all, for protocols that refuse it in
   * a form of their own.
   */
  drop_long_body?: boolean;
  /**
   * Path parameters whose value is read in more spellings than one. Permission is judged by one
   * of them; nothing else in a path may be read so.
   */
  name_forms?: Readonly<Record<string, NameForm>>;
  /** What is set, done or read by other endpoints, too: what policies deny there is denied here. */
  sets_also?: readonly SetElsewhere[] | undefined;
  /** Fields that say the same: the old name, and the one that it stands for. */
  old_names?: Readonly<Record<string, string>>;
  /** The rest of the path is taken as it came, with slashes and encodings of its own; a query is none of it. */
  raw_rest?: boolean;
  /** A path parameter's own form where it is not a plain name (`\w(([\w-.]+)?\w)?`). */
  path_forms?: Readonly<Record<string, RegExp>>;
}

/** A route in a list of routes: its input and output types are known only to itself. */
export interface AnyRoute extends Declaration {
  encoding: Encoding;
  run(app: App, caller: Caller, input: Record<string, unknown>): Promise<VaultResult>;
}

/** Declares an endpoint of the Vault API. */
export function vaultRoute<In extends z.ZodObject, Out extends Output>(
  route: Route<In, Out>,
): AnyRoute {
  const { run, ...rest } = route;
  const check = checkOf(route.input);
  return {
    ...rest,
    // The schema is applied here, once, so `run` gets exactly what it declared.
    run: (app, caller, input) => run(app, caller, check(input)) as Promise<VaultResult>,
    encoding: encodingOf(route),
  };
}
