import { IncomingMessage } from 'node:http';
import { Failure, invalid } from '../core/failure.ts';
import { Gathering, type GatheringFault } from '../core/fairness/gathering.ts';
import type { Hold } from '../core/fairness/shared-bytes.ts';

/** Bytes that are taken of a body before anybody has said how many may come. */
const EARLY = 64 << 10;
/** No endpoint takes more. */
const MOST = 3 << 20;
/** Bytes that may have come before an endpoint says how many it takes: as many as most do. */
const MOST_UNREAD = 1 << 20;
/** What an ordinary body comes to is not counted. */
const LITTLE = 4 << 10;
/**
 * A body that is announced with no more is not counted either, unless its request waits for others or much is made of it:
 * nearly all are as short, and counting takes as long as all else that is done to read one.
 */
const SHORT = 1 << 10;
const NO_BODY = new Uint8Array(0);

/**
 * A request whose body is put together as it comes from the parser. The stream's own way keeps every
 * chunk as an object until somebody reads it, and a chunk may be of one byte.
 */
export class GatheredRequest extends IncomingMessage {
  #gathering: Gathering | undefined;
  #hold: Hold | undefined;
  /** Begins to count. */
  #openHold: (() => Hold | undefined) | undefined;
  #refused: Failure | undefined;
  #reader: { resolve(body: Uint8Array): void; reject(because: Failure): void } | undefined;
  #limit = MOST_UNREAD;
  #isRead = false;
  #isTaken = false;
  #isWaiting = false;
  /** What is being done for it: until that is over its bytes count, though its client may have gone. */
  work: Promise<unknown> | undefined;
  /** The address that it is done for, which a proxy may tell. */
  asker = '';
  /** Whether its `Expect` asks for what nobody here can do. */
  expectsUnknown = false;
  /** Asks the client for a body that it keeps until it is wanted (`Expect: 100-continue`). */
  askForBody: (() => void) | undefined;

  /** Whether the rest of the body is of no use, and the connection neither. */
  get isSpoilt(): boolean {
    return this.#refused !== undefined;
  }

  /**
   * To be called before anything of the body comes.
   *
   * @param hold where its bytes are counted
   * @param waits whether it waits for the answers before it
   */
  gather(hold: (giveUp: () => void) => Hold | undefined, waits = false): void {
    const announced = this.headers['content-length'];
    if (announced === undefined && this.headers['transfer-encoding'] === undefined) return;
    this.#openHold = () => hold(() => this.#refuse('no_room'));
    this.#isWaiting = waits;
    if (waits || !(Number(announced) <= SHORT)) this.#hold = this.#openHold();
    this.#gathering = new Gathering({
      limit: MOST,
      announced: announced === undefined ? undefined : Number(announced),
      hold: this.#hold,
    });
  }

  /** Its turn has come. */
  begin(): void {
    this.#isWaiting = false;
    if (this.complete) this.#hold?.settle();
  }

  /** What the parser calls with each piece of the body, and with null after the last. */
  override push(piece: unknown): boolean {
    if (piece === null) {
      this.#end();
      return super.push(null);
    }
    if (!this.#gathering || !(piece instanceof Uint8Array)) return super.push(piece);
    if (this.#refused) return false;
    const fault = this.#gathering.add(piece);
    if (fault) this.#refuse(fault);
    else if (this.#gathering.length > this.#limit) this.#refuse('too_long');
    return !this.#refused && (this.#isRead || this.#gathering.length < EARLY);
  }

  /**
   * Reads the body whole.
   *
   * @throws Failure `too_large` as soon as more than `limit` bytes are announced or have come
   */
  readBody(limit: number): Promise<Uint8Array> {
    const gathering = this.#gathering;
    if (!gathering) return Promise.resolve(NO_BODY);
    this.#limit = Math.min(limit, MOST);
    this.#isRead = true;
    const announced = Number(this.headers['content-length'] ?? 0);
    if (Math.max(announced, gathering.length) > this.#limit) this.#refuse('too_long');
    if (this.#refused) return Promise.reject(this.#refused);
    if (this.complete) return Promise.resolve(this.#take(gathering));
    this.askForBody?.();
    this.askForBody = undefined;
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
      this.resume();
    });
  }

  /**
   * Counts what has been made of the body until the request is answered.
   *
   * @throws Failure `rate_limited` where there is no room for it
   */
  keep(bytes: number): void {
    if (bytes <= LITTLE) return;
    if (!this.#hold) {
      this.#hold = this.#openHold?.();
      if (this.complete) this.#hold?.settle();
    }
    if (this.#hold?.grow(bytes) === false) throw refuseForRoom();
  }

  /** Lets go of the body. */
  release(): void {
    this.#hold?.release();
    this.#gathering?.drop();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#reader?.reject(invalid('the request body ended early'));
    this.#reader = undefined;
    // What has been taken is worked on, though the client may have gone.
    if (!this.#isTaken) this.release();
    super._destroy(error, callback);
  }

  /** They are the reader's alone from now on: what is made of them has as many, and may be worked on for long. */
  #take(gathering: Gathering): Uint8Array {
    this.#isTaken = true;
    const bytes = gathering.bytes();
    gathering.drop();
    return bytes;
  }

  #end(): void {
    if (!this.#isWaiting) this.#hold?.settle();
    if (!this.#gathering || this.#refused) return;
    this.#reader?.resolve(this.#take(this.#gathering));
    this.#reader = undefined;
  }

  #refuse(fault: GatheringFault): void {
    if (this.#refused) return;
    this.#refused = refusalOf(fault, this.#limit);
    this.release();
    this.#reader?.reject(this.#refused);
    this.#reader = undefined;
  }
}

function refusalOf(fault: GatheringFault, limit: number): Failure {
  switch (fault) {
    case 'too_long':
      return new Failure(
        'too_large',
        `the request body is larger than the ${limit} bytes taken here`,
      );
    case 'too_many_pieces':
      return invalid('the request body comes in too many small pieces');
    case 'no_room':
      return refuseForRoom();
  }
}

/** What is said where there is no room for a body, or for what is made of it. */
export const refuseForRoom = (): Failure =>
  new Failure('rate_limited', 'too many request bodies are under way, try again', {
    retry_after: 1,
  });
