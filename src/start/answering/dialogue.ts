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
  #ended: Failure | undefined;

  constructor(
    port: Worker | MessagePort,
    { answer, hear }: { answer: Answering; hear: (said: Said) => void },
  ) {
    this.#port = port;
    port.on('message', (message: Message) => {
      if ('asked' in message) void this.#answer(message.id, message.asked, answer);
      else if ('said' in message) hear(message.said);
      else this.#settle(message);
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

  #send(message: Message, transferred: Transferable[] = []): void {
    this.#port.postMessage(message, transferred);
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
