import type { Token } from '../access/tokens/token.ts';
import type { App } from '../app/app.ts';
import type { Caller, TokenFacts } from '../app/caller.ts';
import type { Soon } from '../core/steps.ts';
import type { Fault } from './faults.ts';
import type { HttpRequest } from './request.ts';
import type { RecordedRoute, RequestContext } from './request-record.ts';
import type { HttpResponse } from './response.ts';

// What the frame asks of a dialect: one step after the other, in the order in which they stand in `Dialect`.

/** What of an endpoint's declaration the frame itself goes by. */
export interface FramedRoute extends RecordedRoute {
  /** It seals the server, and is answered all the same. */
  readonly seals?: boolean;
}

/** A request on its way through the frame. */
export interface Exchange {
  readonly request: HttpRequest;
  /** Whether its whole body had come before it was asked who sends it: what has come since may rest on something else. */
  readonly has_come: boolean;
  readonly trace: RequestContext;
  /** Headers that its answer has, whatever becomes of it. */
  readonly headers: Record<string, string>;
}

/** What a request says of who asks, and what is found by a look at that. */
export interface Credentials {
  /** Of the token; empty where there is none. */
  readonly text: string;
  /** A good token's row, where it was looked for. */
  readonly living: Token | undefined;
}

/** What was permitted, and is about to be done. */
export interface Permitted {
  readonly caller: Caller;
  readonly route: FramedRoute;
  /** Lets go of what the caller is permitted, until that is judged anew; absent: it is kept. */
  letGo?(): void;
}

/** What a dialect's steps hand on from one to the next. */
export interface Stages {
  found: { readonly route: FramedRoute | undefined };
  asker: unknown;
  possible: unknown;
  input: unknown;
  permitted: Permitted;
  result: unknown;
}

/** How requests of one API are read, permitted, answered and refused. Whatever may be refused is thrown. */
export interface Dialect<S extends Stages> {
  /** Whether a target is meant for it, as it came. */
  accepts(target: string): boolean;
  /** What is said by the head alone: headers of the answer, or an answer that needs no endpoint. */
  greet?(
    app: App,
    request: HttpRequest,
  ): { headers: Readonly<Record<string, string>>; answered?: HttpResponse };
  /** Reads where it leads, and notes that, also of what it refuses. */
  find(app: App, exchange: Exchange): Soon<S['found']>;
  /** Of several threads: whether any of them answers it; see `Declaration.on_any_thread`. */
  isForAny(app: App, found: S['found']): Soon<boolean>;
  /** Refuses what is refused whoever asks. */
  requireHead(exchange: Exchange, found: S['found']): void;
  findCredentials(app: App, exchange: Exchange): Soon<Credentials>;
  /** Counts the request; absent: nobody asks too often. @returns the answer to one that is too many */
  takeQuota?(
    app: App,
    exchange: Exchange,
    found: S['found'],
    credentials: Credentials,
  ): Soon<HttpResponse | undefined>;
  /** Finds out who asks. */
  identify(
    app: App,
    exchange: Exchange,
    found: S['found'],
    credentials: Credentials,
  ): Soon<S['asker']>;
  /** Answers who asks what may be asked for, not for that itself: nothing is run. Absent, or undefined: it is run. */
  describe?(
    app: App,
    exchange: Exchange,
    found: S['found'],
    asker: S['asker'],
  ): Promise<HttpResponse> | undefined;
  /** Refuses what could be permitted with no body: before that is read. */
  requirePossible(
    app: App,
    exchange: Exchange,
    found: S['found'],
    asker: S['asker'],
  ): Soon<S['possible']>;
  /** Reads what was sent. What the asker is permitted may be let go of while that is waited for. */
  read(app: App, exchange: Exchange, possible: S['possible'], asker: S['asker']): Soon<S['input']>;
  permit(
    app: App,
    exchange: Exchange,
    possible: S['possible'],
    asker: S['asker'],
    input: S['input'],
  ): Soon<S['permitted']>;
  run(app: App, permitted: S['permitted']): Promise<S['result']>;
  encode(app: App, permitted: S['permitted'], result: S['result']): Soon<HttpResponse>;
  /** The token that the record names; absent: the caller's. */
  bearerOf?(exchange: Exchange): TokenFacts | undefined;

  /** All that a request brings of credentials, for the record of its refusal; at most two. */
  listCredentials(request: HttpRequest): string[];
  /** Does what has to be done although it could not be answered. */
  rescue?(app: App, exchange: Exchange, thrown: unknown): Promise<HttpResponse | undefined>;
  /**
   * @param ended what the request has ended before it was refused
   * @returns undefined for what is no refusal but a bug
   */
  encodeFailure(error: unknown, ended?: string): HttpResponse | undefined;
  encodeFault(fault: Fault): HttpResponse;
  /** How it is said that the server is sealed. */
  readonly sealed: string;
}
