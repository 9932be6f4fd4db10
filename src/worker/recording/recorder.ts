import type { ChannelExit, ChannelFacts, ChannelWatcher, SessionWatcher } from '../ssh/watching.ts';
import type { Upstream } from '../upstream.ts';
import { Asciicast, castHeader } from './asciicast.ts';

/** Characters after which a piece is sent, and of which no more wait than the server can take in time. */
const PIECE = 64 << 10;
const MOST_WAITING = 512 << 10;
/** Of all channels of a connection together, which may be many. */
const MOST_OF_ALL = 4 << 20;
/** Bytes of a piece; a character has up to three, so what waits can be more than one. */
const MOST_PIECE = 512 << 10;
/** Bytes of one event. */
const MOST_EVENT = 64 << 10;

type Recording = Awaited<ReturnType<Upstream['record']>>;

interface Clock {
  /** Milliseconds of a clock that only goes on. */
  elapsed(): number;
  /** Unix milliseconds. */
  now(): number;
}

const SYSTEM_CLOCK: Clock = { elapsed: () => performance.now(), now: () => Date.now() };

interface RecorderOptions {
  /** Called once when something could not be recorded: nothing more may flow then. */
  onFailure?(error: unknown): void;
  clock?: Clock;
}

/**
 * Records one connection with the server: what flows is told to it piece by piece, sealed there, and written where the
 * target's sessions are kept. Keys and the bucket's credentials stay with the server.
 *
 * @throws Failure when the recording cannot be begun: the connection must not be then
 */
export async function recordConnection(
  upstream: Pick<Upstream, 'record'>,
  connection_id: string,
  { onFailure = () => {}, clock = SYSTEM_CLOCK }: RecorderOptions = {},
): Promise<SessionWatcher> {
  const recording = await upstream.record({ step: 'begin', connection_id });
  const context: Context = {
    ...{ upstream, recording, clock, onFailure: once(onFailure) },
    waiting: 0,
  };
  return {
    openChannel: (facts) => ChannelRecorder.open(context, facts),
    async close({ reason }) {
      await upstream.record({ step: 'end', id: recording.id, reason });
    },
  };
}

function once(call: (error: unknown) => void): (error: unknown) => void {
  let isCalled = false;
  return (error) => {
    if (isCalled) return;
    isCalled = true;
    call(error);
  };
}

interface Context {
  upstream: Pick<Upstream, 'record'>;
  recording: Recording;
  clock: Clock;
  onFailure(error: unknown): void;
  /** Characters of all channels that the server has not taken yet, those on their way included. */
  waiting: number;
}

/**
 * One channel. What it is told waits for a moment, so that not every key that is hit is a piece of its own; what could not
 * be written makes everything after it fail.
 */
class ChannelRecorder implements ChannelWatcher {
  readonly #context: Context;
  readonly #id: string;
  readonly #cast: Asciicast;
  #waiting = '';
  #pieces = 1;
  #bytes = { bytes_up: 0, bytes_down: 0 };
  #timer: NodeJS.Timeout | undefined;
  /** What is on its way; one piece after the other. */
  #sending: Promise<void> | undefined;
  #failure: { error: unknown } | undefined;
  #isClosed = false;

  private constructor(context: Context, id: string, cast: Asciicast) {
    this.#context = context;
    this.#id = id;
    this.#cast = cast;
  }

  static async open(context: Context, facts: ChannelFacts): Promise<ChannelRecorder> {
    const { upstream, recording, clock } = context;
    const { keeps_input: keepsInput } = recording;
    const cast = new Asciicast(facts, { began: clock.elapsed(), keepsInput });
    const bytes = Buffer.from(castHeader(facts, clock.now()));
    const { type, program, command = '', pty } = facts;
    const { id } = await upstream.record({
      step: 'open',
      id: recording.id,
      channel: { type, program, command, has_pty: pty !== undefined },
      bytes,
    });
    return new ChannelRecorder(context, id, cast);
  }

  async output(bytes: Uint8Array, from: 'stdout' | 'stderr'): Promise<void> {
    this.#bytes.bytes_down += bytes.length;
    await this.#take(bytes, from);
  }

  async input(bytes: Uint8Array): Promise<void> {
    this.#bytes.bytes_up += bytes.length;
    await this.#take(bytes, 'stdin');
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#add(this.#cast.resize(columns, rows, this.#context.clock.elapsed()));
  }

  async close(exit: ChannelExit): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#wait(this.#cast.finish(exit, this.#context.clock.elapsed()));
    while (this.#sending) await this.#sending;
    this.#requireWhole();
    await this.#tell('close');
    this.#requireWhole();
  }

  async #take(bytes: Uint8Array, source: 'stdout' | 'stderr' | 'stdin'): Promise<void> {
    const now = this.#context.clock.elapsed();
    for (let at = 0; at < bytes.length; at += MOST_EVENT) {
      await this.#add(this.#cast.take(bytes.subarray(at, at + MOST_EVENT), source, now));
    }
  }

  async #add(line: string): Promise<void> {
    this.#requireWhole();
    // Nothing is written of what comes then, so it must not flow.
    if (this.#isClosed) throw new Error('the channel is closed');
    this.#wait(line);
    if (this.#waiting === '') return;
    if (this.#waiting.length >= PIECE) this.#send();
    else if (!this.#sending && !this.#timer) {
      this.#timer = setTimeout(() => this.#send(), this.#context.recording.flush_ms);
    }
    while (this.#waiting.length > MOST_WAITING && this.#sending) await this.#sending;
    if (this.#context.waiting > MOST_OF_ALL) await this.#untilSent();
    this.#requireWhole();
  }

  #wait(line: string): void {
    this.#waiting += line;
    this.#context.waiting += line.length;
  }

  async #untilSent(): Promise<void> {
    if (this.#waiting !== '') this.#send();
    while (this.#sending) await this.#sending;
  }

  /** @throws what an earlier piece failed with */
  #requireWhole(): void {
    if (this.#failure) throw this.#failure.error;
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#sending || this.#isClosed) return;
    this.#sending = this.#tell('write').finally(() => {
      this.#sending = undefined;
      if (this.#waiting !== '' && !this.#failure) this.#send();
    });
  }

  /** All that waits, in as many pieces as it takes. Never throws: the failure is kept, and told. */
  async #tell(step: 'write' | 'close'): Promise<void> {
    const { upstream, onFailure } = this.#context;
    const text = this.#waiting;
    const all = Buffer.from(text);
    this.#waiting = '';
    const flowed = { ...this.#bytes };
    try {
      for (let from = 0; from === 0 || from < all.length; from += MOST_PIECE) {
        const bytes = all.subarray(from, from + MOST_PIECE);
        const isLast = from + MOST_PIECE >= all.length;
        const at = this.#pieces++;
        await upstream.record({
          step: isLast ? step : 'write',
          id: this.#id,
          at,
          bytes,
          ...flowed,
        });
      }
    } catch (error) {
      this.#failure = { error };
      onFailure(error);
    } finally {
      this.#context.waiting -= text.length;
    }
  }
}
