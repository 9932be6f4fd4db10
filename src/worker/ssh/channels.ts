import { setTimeout as wait } from 'node:timers/promises';
import { WireReader } from '../../ssh/wire.ts';
import { Allowance } from './transport/allowance.ts';
import { SshFault } from './transport/fault.ts';
import { MESSAGE } from './transport/messages.ts';
import type { ChannelExit, ChannelFacts, ChannelWatcher, SessionWatcher } from './watching.ts';

/** Neither side has more channels open at once. */
export const MOST_CHANNELS = 1024;
/** Channels that are opened one after the other: whoever wants more of them waits. */
export const OPENINGS = { most: 1024, per_second: 64 };
/** Of names that are kept while a channel is open; others are longer than any (RFC 4250 §4.6.1). */
const MOST_NAME = 256;

type From = 'client' | 'endpoint';

interface Channel {
  type: string;
  opened_by: From;
  /** Its number at either side; of the other side known once it has confirmed. */
  numbers: { client?: number; endpoint?: number };
  pty?: ChannelFacts['pty'];
  isBegun: boolean;
  watcher?: ChannelWatcher | undefined;
  /** Requests of the client that the endpoint has not answered. */
  unanswered: number;
  /** Which of the answers that are to come says whether what it was begun for is done, from 1. */
  answered_in?: number | undefined;
  exit: ChannelExit;
  closed_by: Set<From>;
}

/**
 * Tells a watcher what flows through the channels of a connection. Messages are those that are passed on: they
 * are looked at, and never changed.
 *
 * @see RFC 4254 §5, §6
 */
export class WatchedChannels {
  readonly #watcher: SessionWatcher;
  readonly #openings: Allowance;
  /** By the number that messages to a side name them by. */
  readonly #known = { client: new Map<number, Channel>(), endpoint: new Map<number, Channel>() };
  /** Messages that the watcher is being told of: one of each side at the most. */
  readonly #seeing = new Set<Promise<void>>();
  #hasEnded = false;

  constructor(watcher: SessionWatcher, openings = new Allowance(OPENINGS)) {
    this.#watcher = watcher;
    this.#openings = openings;
  }

  /** @throws SshFault when a message is malformed, or comes after the end; whatever the watcher throws */
  async see(message: Buffer, from: From): Promise<void> {
    if (this.#hasEnded) throw new SshFault('the connection has ended');
    const seeing = this.#see(message, from);
    this.#seeing.add(seeing);
    try {
      await seeing;
    } finally {
      this.#seeing.delete(seeing);
    }
  }

  async #see(message: Buffer, from: From): Promise<void> {
    const read = new WireReader(message.subarray(1));
    switch (message[0]) {
      case MESSAGE.CHANNEL_OPEN:
        // Each is a file of a recording.
        while (!this.#openings.take()) await wait(1000 / OPENINGS.per_second);
        this.#open(read, from);
        break;
      case MESSAGE.CHANNEL_OPEN_CONFIRMATION:
        await this.#confirm(read, from);
        break;
      case MESSAGE.CHANNEL_OPEN_FAILURE:
        this.#forget(read.uint32(), from);
        break;
      case MESSAGE.CHANNEL_DATA:
        await this.#data(this.#watched(read, from), read.string(), from);
        break;
      case MESSAGE.CHANNEL_EXTENDED_DATA:
        await this.#extended(this.#watched(read, from), read, from);
        break;
      case MESSAGE.CHANNEL_REQUEST:
        await this.#request(this.#channel(read, from), read, from);
        break;
      case MESSAGE.CHANNEL_SUCCESS:
      case MESSAGE.CHANNEL_FAILURE:
        this.#answer(this.#channel(read, from), from, message[0] === MESSAGE.CHANNEL_SUCCESS);
        break;
      case MESSAGE.CHANNEL_CLOSE:
        await this.#close(this.#channel(read, from), from);
        break;
    }
    if (read.failed) throw new SshFault('a message of a channel is malformed');
  }

  /**
   * Closes all that is open, also where one cannot be, and what is only being begun or closed as well: nothing is told
   * to the watcher any more when this returns.
   *
   * @throws what the watcher throws first
   */
  async close(): Promise<void> {
    this.#hasEnded = true;
    const seen = await Promise.allSettled(this.#seeing);
    const all = new Set([...this.#known.client.values(), ...this.#known.endpoint.values()]);
    this.#known.client.clear();
    this.#known.endpoint.clear();
    const failures: unknown[] = seen.flatMap((one) =>
      one.status === 'rejected' && !(one.reason instanceof SshFault) ? [one.reason] : [],
    );
    for (const { watcher, exit } of all) {
      await watcher?.close(exit).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }

  #open(read: WireReader, from: From): void {
    const type = read.name();
    if (type.length > MOST_NAME) throw new SshFault('a channel has no type that is possible');
    const number = read.uint32();
    const known = this.#known[from];
    if (known.size >= MOST_CHANNELS) throw new SshFault('too many channels are open');
    if (known.has(number)) throw new SshFault('a channel is opened twice');
    const channel: Channel = {
      type,
      opened_by: from,
      numbers: { [from]: number },
      isBegun: false,
      unanswered: 0,
      exit: {},
      closed_by: new Set(),
    };
    known.set(number, channel);
  }

  async #confirm(read: WireReader, from: From): Promise<void> {
    const channel = this.#channel(read, from);
    const number = read.uint32();
    if (!channel || channel.opened_by === from || channel.numbers[from] !== undefined) {
      throw new SshFault('a channel is confirmed that nobody opened');
    }
    if (this.#known[from].has(number)) throw new SshFault('a channel is opened twice');
    channel.numbers[from] = number;
    this.#known[from].set(number, channel);
    // What a session is for its first requests say.
    if (channel.type !== 'session') await this.#begin(channel, { program: 'none' });
  }

  async #begin(channel: Channel, what: Pick<ChannelFacts, 'program' | 'command'>): Promise<void> {
    // A server that refused the first takes a second one: that would run by the first one's name.
    if (channel.isBegun) throw new SshFault('a channel is begun twice');
    channel.isBegun = true;
    const { type, pty, watcher: refused } = channel;
    // Nobody sees what flows meanwhile, so nothing may.
    channel.watcher = undefined;
    await refused?.close({ refused: true });
    channel.watcher = await this.#watcher.openChannel({ type, ...what, ...(pty ? { pty } : {}) });
  }

  /** Answers come in the order of the requests. What was refused may be followed by something else. */
  #answer(channel: Channel | undefined, from: From, isDone: boolean): void {
    if (!channel || from === 'client') return;
    channel.unanswered = Math.max(0, channel.unanswered - 1);
    if (channel.answered_in === undefined) return;
    channel.answered_in -= 1;
    if (channel.answered_in > 0) return;
    channel.answered_in = undefined;
    channel.isBegun = isDone;
  }

  async #data(watcher: ChannelWatcher, bytes: Buffer, from: From): Promise<void> {
    if (from === 'client') await watcher.input(bytes);
    else await watcher.output(bytes, 'stdout');
  }

  async #extended(watcher: ChannelWatcher, read: WireReader, from: From): Promise<void> {
    read.uint32();
    const bytes = read.string();
    if (from === 'endpoint') await watcher.output(bytes, 'stderr');
    else await watcher.input(bytes);
  }

  async #request(channel: Channel | undefined, read: WireReader, from: From): Promise<void> {
    const type = read.name();
    const isAnswered = read.boolean();
    if (!channel) return;
    if (from === 'endpoint') {
      if (type === 'exit-status') channel.exit = { status: read.uint32() };
      else if (type === 'exit-signal') channel.exit = { signal: beginningOf(read, 'latin1') };
      return;
    }
    if (isAnswered) channel.unanswered += 1;
    switch (type) {
      case 'pty-req':
        channel.pty = {
          term: beginningOf(read, 'utf8'),
          columns: read.uint32(),
          rows: read.uint32(),
        };
        break;
      case 'window-change':
        await channel.watcher?.resize(read.uint32(), read.uint32());
        break;
      case 'shell':
        await this.#begin(channel, { program: type });
        break;
      case 'exec':
      case 'subsystem':
        await this.#begin(channel, { program: type, command: read.utf8() });
        break;
      default:
        return;
    }
    const isBeginning = type === 'shell' || type === 'exec' || type === 'subsystem';
    if (isBeginning && isAnswered) channel.answered_in = channel.unanswered;
  }

  async #close(channel: Channel | undefined, from: From): Promise<void> {
    if (!channel) return;
    channel.closed_by.add(from);
    if (channel.closed_by.size < 2) return;
    for (const side of ['client', 'endpoint'] as const) {
      const number = channel.numbers[side];
      if (number !== undefined) this.#known[side].delete(number);
    }
    await channel.watcher?.close(channel.exit);
  }

  /** Messages name a channel by the number that it has where they go. */
  #channel(read: WireReader, from: From): Channel | undefined {
    return this.#known[otherOf(from)].get(read.uint32());
  }

  /** Who sees the data of a channel: what nobody sees does not flow. @throws SshFault */
  #watched(read: WireReader, from: From): ChannelWatcher {
    const watcher = this.#channel(read, from)?.watcher;
    if (!watcher) throw new SshFault('data of a channel that nobody has begun');
    return watcher;
  }

  /** @param by the side that was asked */
  #forget(number: number, by: From): void {
    const known = this.#known[otherOf(by)];
    // Its other half would stay for as long as the connection.
    if (known.get(number)?.numbers[by] !== undefined) {
      throw new SshFault('a channel is refused that is open');
    }
    known.delete(number);
  }
}

/** Of a text: a part of one that is read would hold on to all of it. */
const beginningOf = (read: WireReader, encoding: 'utf8' | 'latin1'): string =>
  read.string().subarray(0, MOST_NAME).toString(encoding);

const otherOf = (side: From): From => (side === 'client' ? 'endpoint' : 'client');
