import type { MessagePort, Transferable, Worker } from 'node:worker_threads';
import { Failure } from '../../core/failure.ts';
import type { Asked, Said, SentFailure } from './messages.ts';

type Message =
  | { id: number; asked: Asked }
  | { id: number; answer: unknown }
  | { id: number; refused: SentFailure | string }
  | { said: Said };

/** Answers what the other side asks. @throws Failure to refuse it */
export type Answering = (asked: Asked) => unknown;

/** A thread and its supervisor, as one of them speaks to the other. */
export class Dialogue {
  readonly #port: Worker | MessagePort;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #next = 0;
  #unsent: Message[] = [];
  #ended: Failure | undefined;

  constructor(
    port: Worker | MessagePort,
    { answer, hear }: { answer: Answering; hear: (said: Said) => void },
  ) {
    this.#port = port;
    port.on('message', (messages: Message[]) => {
      for (const message of messages) {
        if ('asked' in message) void this.#answer(message.id, message.asked, answer);
        else if ('said' in message) hear(message.said);
        else this.#settle(message);
      }
    });
  }

  /** @throws Failure as the other side refused it, and `unavailable` when it has ended */
  ask(asked: Asked, transferred: Transferable[] = []): Promise<unknown> {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = this.#next++;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    this.#send({ id, asked }, transferred);
    return answer.promise;
  }

  say(said: Said): void {
    this.#send({ said });
    this.#flush();
  }

  /** The other side has ended: what was asked of it gets no answer any more. */
  end(why: Failure): void {
    this.#ended ??= why;
    for (const { reject } of this.#waiting.values()) reject(why);
    this.#waiting.clear();
  }

  async #answer(id: number, asked: Asked, answer: Answering): Promise<void> {
    try {
      this.#send({ id, answer: await answer(asked) });
    } catch (error) {
      this.#send({ id, refused: sentOf(error) });
    }
  }

  #settle(message: Exclude<Message, { asked: Asked } | { said: Said }>): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if ('answer' in message) waiting?.resolve(message.answer);
    else waiting?.reject(errorOf(message.refused));
  }

  /** What is asked and answered in one turn of the loop goes together: each by itself would wake the other side. */
  #send(message: Message, transferred: Transferable[] = []): void {
    this.#unsent.push(message);
    if (transferred.length > 0) this.#flush(transferred);
    else if (this.#unsent.length === 1) setImmediate(() => this.#flush());
  }

  /** Sends what waits for the end of the turn, for who closes the port. */
  flush(): void {
    this.#flush();
  }

  #flush(transferred: Transferable[] = []): void {
    const messages = this.#unsent;
    if (messages.length === 0) return;
    this.#unsent = [];
    try {
      this.#port.postMessage(messages, transferred);
    } catch {
      const last = messages.pop();
      // One that cannot be sent is not to take others with it.
      for (const message of messages) this.#sendAlone(message);
      if (last) this.#sendAlone(last, transferred);
    }
  }

  #sendAlone(message: Message, transferred: Transferable[] = []): void {
    try {
      this.#port.postMessage([message], transferred);
    } catch (error) {
      if ('said' in message) throw error;
      const refused = sentOf(error);
      if ('asked' in message) this.#settle({ id: message.id, refused });
      else this.#port.postMessage([{ id: message.id, refused }], []);
    }
  }
}
function sentOf(error: unknown): SentFailure | string {
  if (!(error instanceof Failure))
    return error instanceof Error ? (error.stack ?? '') : String(error);
  const { cause: _, ...detail } = error.detail;
  return { kind: error.kind, message: error.message, detail };
}

function errorOf(refused: SentFailure | string): Error {
  if (typeof refused === 'string') return new Error(`on another thread: ${refused}`);
  return new Failure(refused.kind, refused.message, refused.detail);
}
