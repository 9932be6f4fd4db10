import { type Client, type Connection, DatabaseError, type Submittable } from 'pg';
import type { Value } from './write.ts';

/** One statement of a pipeline; `$1` takes the first parameter. */
export interface Step {
  sql: string;
  parameters: readonly Value[];
}

export interface StepResult {
  /** What the server calls it, e.g. `INSERT 0 1`, `COMMIT`. */
  tag: string;
  /** Rows touched or answered; undefined for a statement such as `begin`. */
  rows: number | undefined;
  /** The first column of the first row, for the few steps that ask something. */
  value: string | null | undefined;
}

/** What a server answered to a group of steps; those after a failed one were not run. */
export interface PipelineResult {
  done: StepResult[];
  /** The error of the step `done.length`. */
  error?: ServerError;
}

/** A refusal by the server (PostgreSQL manual, "Error and Notice Message Fields"). */
export interface ServerError extends Error {
  /** SQLSTATE, five characters. */
  code: string;
  table?: string;
  constraint?: string;
  detail?: string;
}

/** The statement that is planned for the values it is sent with, and forgotten with the next one. */
const UNNAMED = '';

/** Statements kept prepared on a connection. */
const STATEMENTS = 500;

/**
 * Parameters of a statement that is prepared by name, for which PostgreSQL keeps a plan after a few times. That plan
 * knows no values: a list of five hundred ids is compared one by one with each of ten thousand rows, where a
 * plan made for them looks each row up in a table of the ids. Nor are plans of long lists small.
 */
const MOST_PARAMETERS = 160;

/** Whether a statement is prepared by name; the others are planned for the values that they come with. */
export const isKept = ({ parameters }: Pick<Step, 'parameters'>): boolean =>
  parameters.length <= MOST_PARAMETERS;

/** Which statements a connection has prepared, and under what name. */
export class PreparedNames {
  /** The name of each, and which group of steps prepares it until that is known to be done. */
  readonly #names = new Map<string, { name: string; by: object | undefined }>();
  /** Groups that are to prepare something, and what they have forgotten for that. */
  readonly #preparing = new Map<object, { at: number; name: string }[]>();
  /** What the server may know and nobody uses any more: names outlive a rollback, and each keeps kilobytes there. */
  #strays: string[] = [];
  #counter = 0;

  /**
   * The name to use, and whether the server has still to be told what it stands for. What a group has sent for the first
   * time has no name for the groups behind it: it is not prepared when the group fails before.
   *
   * @param at which step of the group it is for
   */
  take(sql: string, group: object, at: number): { name: string; isNew: boolean; evicted?: string } {
    const known = this.#names.get(sql);
    if (known) {
      const isPrepared = known.by === undefined || known.by === group;
      return { name: isPrepared ? known.name : UNNAMED, isNew: !isPrepared };
    }
    this.#counter += 1;
    const name = `w${this.#counter}`;
    this.#names.set(sql, { name, by: group });
    const ofGroup = this.#preparing.getOrInsert(group, []);
    if (this.#names.size <= STATEMENTS) return { name, isNew: true };
    const [oldest] = this.#names;
    if (oldest === undefined) return { name, isNew: true };
    this.#names.delete(oldest[0]);
    ofGroup.push({ at, name: oldest[1].name });
    return { name, isNew: true, evicted: oldest[1].name };
  }

  /** What a group has prepared is for all; where it did not get as far, or may not have, it is forgotten. */
  settle(group: readonly Step[], done: number): void {
    const evicted = this.#preparing.get(group);
    if (!evicted) return;
    this.#preparing.delete(group);
    // The server has read nothing more of the group since the step that failed.
    for (const { at, name } of evicted) if (at > done) this.#strays.push(name);
    for (const [at, { sql }] of group.entries()) {
      const known = this.#names.get(sql);
      if (known?.by !== group) continue;
      if (at < done) known.by = undefined;
      else {
        this.#names.delete(sql);
        // Whether it failed before or after it was prepared is not known.
        if (at === done) this.#strays.push(known.name);
      }
    }
  }

  /** Names that the server is to forget, each told once; one that it does not know is no error. */
  takeStrays(): string[] {
    const strays = this.#strays;
    this.#strays = [];
    return strays;
  }
}

/**
 * Sends several statements at once and waits once: the extended query protocol with one Sync at the end of each
 * group. After a step that fails the rest of its group is left out, and the next group begins. `pg` waits for each
 * answer before it sends the next statement, or sends a Sync with each.
 */
export class Pipeline implements Submittable {
  readonly #client: Client;
  readonly #groups: readonly (readonly Step[])[];
  readonly #names: PreparedNames;
  readonly #mayGoOn: (error: ServerError) => boolean;
  readonly #results: PipelineResult[] = [];
  #isSent = false;
  #done: StepResult[] = [];
  #value: string | null | undefined;
  #settle: { resolve(results: PipelineResult[]): void; reject(error: Error): void };
  /** One for each group. Rejects only when the connection is lost; a refusal by the server is in a result. */
  readonly results: Promise<PipelineResult[]>;

  /** @param mayGoOn whether the groups after a failed one are worth their time; else the connection is ended */
  constructor(
    client: Client,
    groups: readonly (readonly Step[])[],
    { names, mayGoOn }: { names: PreparedNames; mayGoOn(error: ServerError): boolean },
  ) {
    this.#client = client;
    this.#groups = groups;
    this.#names = names;
    this.#mayGoOn = mayGoOn;
    const { promise, resolve, reject } = Promise.withResolvers<PipelineResult[]>();
    this.results = promise;
    this.#settle = { resolve, reject };
  }

  submit(connection: Connection): void {
    if (this.#isSent) return;
    this.#isSent = true;
    connection.stream.cork();
    for (const name of this.#names.takeStrays()) connection.close({ type: 'S', name }, true);
    for (const group of this.#groups) {
      for (const [at, step] of group.entries()) {
        const statement = this.#prepare(connection, group, at, step);
        connection.bind({ statement, values: step.parameters.map(wireValue) }, true);
        connection.execute(null, true);
      }
      connection.sync();
    }
    connection.stream.uncork();
  }

  /** @returns the name that the server knows the statement by */
  #prepare(connection: Connection, group: object, at: number, step: Step): string {
    const { name, isNew, evicted } = isKept(step)
      ? this.#names.take(step.sql, group, at)
      : { name: UNNAMED, isNew: true };
    if (evicted !== undefined) connection.close({ type: 'S', name: evicted }, true);
    if (isNew) connection.parse({ name, text: step.sql, types: [] }, true);
    return name;
  }

  handleRowDescription(): void {}

  handleDataRow(message: { fields: (string | null)[] }): void {
    this.#value ??= message.fields[0];
  }

  handleCommandComplete(message: { text: string }): void {
    const tag = message.text;
    const rows = Number(tag.slice(tag.lastIndexOf(' ') + 1));
    this.#done.push({ tag, rows: Number.isNaN(rows) ? undefined : rows, value: this.#value });
    this.#value = undefined;
  }

  handleEmptyQuery(): void {
    this.#done.push({ tag: '', rows: undefined, value: undefined });
  }

  handleReadyForQuery(): void {
    this.#finishGroup({ done: this.#done });
  }

  handleError(error: Error): void {
    if (!isServerError(error) || endsSession(error)) {
      this.#settle.reject(error);
    } else if (this.#mayGoOn(error) || this.#results.length + 1 === this.#groups.length) {
      this.#finishGroup({ done: this.#done, error });
    } else {
      this.#client.connection.stream.destroy();
      this.#settle.reject(error);
    }
  }

  #finishGroup(result: PipelineResult): void {
    const group = this.#groups[this.#results.length] ?? [];
    this.#names.settle(group, result.done.length);
    this.#results.push(result);
    this.#done = [];
    this.#value = undefined;
    if (this.#results.length === this.#groups.length) this.#settle.resolve(this.#results);
    // To the client each Sync ends a query: it hands on what the next group is answered when asked again.
    else this.#client.query(this);
  }
}

export function isServerError(error: unknown): error is ServerError {
  return (
    error instanceof DatabaseError && typeof error.code === 'string' && error.code.length === 5
  );
}

/** Whether the server closes the connection after this error; its severity is translated. */
function endsSession(error: ServerError): boolean {
  return /^(08|57P|25P0[34])/.test(error.code);
}

function wireValue(value: Value): string | Buffer | null {
  if (value === null || typeof value === 'string') return value;
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  return String(value);
}
