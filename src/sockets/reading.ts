import type { Socket } from 'node:net';

/** What a socket is to the system; the runtime keeps it to itself. */
interface Handle {
  /** Whether the runtime takes it to be reading. */
  reading: boolean;
  readStart(): void;
  readStop(): void;
}

/**
 * Has a socket take no more from the system, so that what its client sends stays with the client. To pause the
 * stream is not enough: that fills a buffer of its own first, a hundred thousand bytes a socket.
 */
export function stopReading(socket: Socket): void {
  const handle = findHandle(socket);
  if (!handle) return;
  handle.readStop();
  // Left set: otherwise the stream would start reading again by itself.
  handle.reading = true;
}

export function startReading(socket: Socket): void {
  const handle = findHandle(socket);
  if (!handle) return;
  handle.reading = true;
  handle.readStart();
}

/**
 * Has the answer of a client whose TLS handshake was begun just now be read no sooner than the runtime knows its own part
 * to be on its way, in the next turn. What it is to say by then waits for that, and an alert, with which it closes the
 * connection, is lost while it waits.
 */
export function readAnswerLater(socket: Socket): void {
  // Behind the runtime's own: it begins in the next tick, and reads then.
  process.nextTick(() => {
    stopReading(socket);
    setImmediate(() => {
      if (!socket.destroyed) startReading(socket);
    });
  });
}

function findHandle(socket: Socket): Handle | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  return isHandle(handle) ? handle : undefined;
}

const isHandle = (value: unknown): value is Handle =>
  typeof value === 'object' && value !== null && 'readStop' in value && 'readStart' in value;
