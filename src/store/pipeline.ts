import { type Connection, DatabaseError, type Submittable } from 'pg';
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

/** What a server answered; the steps after a failed one were not run. */
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
  readonly #names = new Map<string, string>();
  #counter = 0;

  /** The name to use, and whether the server has still to be told what it stands for. */
  take(sql: string): { name: string; isNew: boolean; evicted?: string } {
    const known = this.#names.get(sql);
    if (known !== undefined) return { name: known, isNew: false };
    this.#counter += 1;
    const name = `w${this.#counter}`;
    this.#names.set(sql, name);
    if (this.#names.size <= STATEMENTS) return { name, isNew: true };
    const [oldest] = this.#names;
    if (oldest === undefined) return { name, isNew: true };
    this.#names.delete(oldest[0]);
    return { name, isNew: true, evicted: oldest[1] };
  }

  /** The server did not get as far as preparing it, or may not have. */
  forget(sql: string): void {
    this.#names.delete(sql);
  }
}

/**
 * Sends several statements at once and waits once: the extended query protocol with one Sync
 * at the end. `pg` waits for each answer before it sends the next statement, or sends a Sync
 * with each.
 */
export class Pipeline implements Submittable {
  readonly #steps: readonly Step[];
  readonly #names: PreparedNames;
  readonly #new: string[] = [];
  readonly #done: StepResult[] = [];
  #value: string | null | undefined;
  #settle: { resolve(result: PipelineResult): void; reject(error: Error): void };
  /** Rejects only when the connection is lost; a refusal by the server is in the result. */
  readonly result: Promise<PipelineResult>;

  constructor(steps: readonly Step[], names: PreparedNames) {
    this.#steps = steps;
    this.#names = names;
    const { promise, resolve, reject } = Promise.withResolvers<PipelineResult>();
    this.result = promise;
    this.#settle = { resolve, reject };
  }

  submit(connection: Connection): void {
    connection.stream.cork();
    for (const step of this.#steps) {
      const statement = isKept(step) ? this.#prepare(connection, step.sql) : UNNAMED;
      if (statement === UNNAMED)
        connection.parse({ name: UNNAMED, text: step.sql, types: [] }, true);
      connection.bind({ statement, values: step.parameters.map(wireValue) }, true);
      connection.execute(null, true);
    }
    connection.sync();
    connection.stream.uncork();
  }

  /** @returns the name that the server knows the statement by */
  #prepare(connection: Connection, sql: string): string {
    const { name, isNew, evicted } = this.#names.take(sql);
    if (evicted !== undefined) connection.close({ type: 'S', name: evicted }, true);
    if (isNew) {
      this.#new.push(sql);
      connection.parse({ name, text: sql, types: [] }, true);
    }
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
    this.#settle.resolve({ done: this.#done });
  }

  handleError(error: Error): void {
    const finished = new Set(this.#steps.slice(0, this.#done.length).map(({ sql }) => sql));
    for (const sql of this.#new) if (!finished.has(sql)) this.#names.forget(sql);
    if (isServerError(error) && !endsSession(error)) {
      this.#settle.resolve({ done: this.#done, error });
    } else {
      this.#settle.reject(error);
    }
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
