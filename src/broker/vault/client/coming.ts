import { Gathering } from '../../../core/fairness/gathering.ts';
import type { Hold } from '../../../core/fairness/shared-bytes.ts';
import { countJsonParts, weighJsonParts } from '../../../core/json-parts.ts';
import { VaultFault } from './answer.ts';
import { BEGINNING, findMadeLease, type MadeLease } from './made.ts';
import { REFUSAL } from './words.ts';

/** How much an answer may hold. */
export interface AnswerBounds {
  bytes: number;
  /** Of all objects and lists together; each takes far more time and memory, once it is parsed, than its text. */
  values: number;
}

/** What is told of a token, a lease or capabilities: some dozens of values, or as many as a token has policies. */
export const SHORT: AnswerBounds = { bytes: 64 << 10, values: 1_000 };
/** Secrets: longer than a Vault server keeps any, and with as many values as a stored one may have members. */
export const SECRET: AnswerBounds = { bytes: 1 << 20, values: 10_000 };

/** What a server said: all of an answer, and of a refusal the beginning. */
export interface Said {
  status: number;
  text: string;
  /** Bytes that it takes once it is parsed, besides the text. */
  weight: number;
}

/** Somebody else needs the room, or its turn to be parsed did not come. */
export const noRoom = (): VaultFault =>
  new VaultFault('busy', 'too much comes from Vault servers, try again in some seconds');

export const tooLong = (): VaultFault =>
  new VaultFault('malformed', 'the answer of the Vault server is too long');

/** What a server says, as it comes: of a refusal no more than is looked at, of an answer no more than is parsed in milliseconds. */
export class ComingAnswer {
  readonly #status: number;
  readonly #bounds: AnswerBounds;
  readonly #gathering: Gathering;
  /** The piece that was no longer taken. */
  #refused: Uint8Array = new Uint8Array(0);

  constructor(status: number, bounds: AnswerBounds, hold: Hold) {
    this.#status = status;
    this.#bounds = bounds;
    this.#gathering = new Gathering({ limit: this.#isRefusal ? REFUSAL : bounds.bytes, hold });
  }

  get #isRefusal(): boolean {
    return this.#status < 200 || this.#status >= 300;
  }

  /** @returns whether there is nothing more to wait for. @throws VaultFault `malformed` for one that is too long */
  add(piece: Uint8Array): boolean {
    const room = this.#isRefusal ? REFUSAL - this.#gathering.length : piece.length;
    if (this.#gathering.add(piece.subarray(0, room)) === undefined) return piece.length > room;
    this.#refused = piece;
    throw tooLong();
  }

  /** The lease that it speaks of, as far as it came. */
  findMade(): MadeLease | undefined {
    if (this.#isRefusal) return undefined;
    const beginning = Buffer.concat([
      this.#gathering.bytes().subarray(0, BEGINNING),
      this.#refused.subarray(0, BEGINNING),
    ]);
    return findMadeLease(beginning.subarray(0, BEGINNING).toString('utf8'));
  }

  /** All of it. @throws VaultFault `malformed` for an answer that is too much to be parsed */
  finish(): Said {
    const text = Buffer.from(this.#gathering.bytes()).toString('utf8');
    const said = { status: this.#status, text, weight: 0 };
    if (this.#isRefusal) return said;
    const { values } = this.#bounds;
    const parts = countJsonParts(text, {
      // Of a text that is JSON neither is more than the values.
      maxDepth: values,
      maxMembers: values,
      maxValues: values,
    });
    if (parts.beyond) {
      const because = `the answer of the Vault server has more than ${values} values`;
      throw new VaultFault('malformed', because);
    }
    return { ...said, weight: weighJsonParts(parts) };
  }
}
