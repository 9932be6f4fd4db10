import { countJsonParts, type JsonLimits } from '../../core/json-parts.ts';
import { type CallName, MOST_CARRIED } from '../upstream.ts';
import { type FromWorker, fromWorker, MESSAGE_BYTES, MOST_ENDS } from './messages.ts';

/** What a message may be at most before anybody looks what it says: schemas read all of it first, and name each fault. */
interface Bounds extends JsonLimits {
  /** Characters, each of which JSON may write as six. */
  length: number;
}

const short = (length: number): Bounds => ({
  ...{ length, maxDepth: 3, maxValues: 64, maxMembers: 32 },
});

/** Of each connection in a report, and of each end in a call. */
const OPEN = { values: 4, members: 3 };
const END = { values: 7, members: 6 };

const BOUNDS: Record<Exclude<FromWorker['type'], 'call'>, Bounds> = {
  // Its tags are bounded together once they are read, and the refusal says so: they may be somewhat longer here.
  hello: { length: 128 << 10, maxDepth: 3, maxValues: 2_048, maxMembers: 1_024 },
  report: {
    length: MESSAGE_BYTES,
    maxDepth: 3,
    // Of each that was brought its id alone.
    maxValues: (OPEN.values + 1) * MOST_CARRIED + 16,
    maxMembers: OPEN.members * MOST_CARRIED + 16,
  },
  renew: short(2 << 10),
  brought: short(8 << 10),
  'not brought': short(8 << 10),
};

const CALLS: Partial<Record<CallName, Bounds>> = {
  record: { ...short(MESSAGE_BYTES), maxDepth: 4 },
  close: {
    length: MESSAGE_BYTES,
    maxDepth: 4,
    maxValues: END.values * MOST_ENDS + 16,
    maxMembers: END.members * MOST_ENDS + 16,
  },
};
const CALL = short(16 << 10);

/** As workers write it: the type first, and of a call its name third. */
const BEGINNING = /^\{"type":"([a-z ]{1,16})"(?:,"id":\d{1,16},"name":"([A-Za-z]{1,16})")?/;

function boundsOf(type: string | undefined, name: string | undefined): Bounds | undefined {
  if (type === 'call') return CALLS[name as CallName] ?? CALL;
  return Object.hasOwn(BOUNDS, type ?? '') ? BOUNDS[type as keyof typeof BOUNDS] : undefined;
}

/**
 * Reads one message of a worker. It is bounded by what it says it is before it is parsed, and none if it is another
 * then.
 *
 * @returns undefined for what is none
 */
export function parseMessage(text: string): FromWorker | undefined {
  const [, type, name] = BEGINNING.exec(text) ?? [];
  const bounds = boundsOf(type, name);
  if (!bounds || text.length > bounds.length || countJsonParts(text, bounds).beyond) {
    return undefined;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const read = fromWorker.safeParse(value);
  if (!read.success || read.data.type !== type) return undefined;
  // What is said twice is what is said last.
  if (read.data.type === 'call' && name !== undefined && read.data.name !== name) return undefined;
  return read.data;
}
