import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer, isIP, type ListenOptions, type Server } from 'node:net';

/**
 * Sockets that listen on the port of a server. The runtime accepts one connection of each in a turn of the event
 * loop, in the order of coming: a network of which hundreds come each second would keep everybody else waiting to be
 * let in.
 */
const DOORS = 16;

/** Where the system shares out connections among sockets on one port. */
export const CAN_SHARE = process.platform === 'linux';

interface Place {
  host: string;
  port: number;
}

/**
 * Where a server is to listen: at one address, but at all that `localhost` is, as clients take either.
 *
 * @throws what looking up a name throws that nobody has
 */
export async function findPlaces(
  { host, port }: Place,
  find: (host: string, options: { all: true }) => Promise<readonly { address: string }[]> = lookup,
): Promise<[Place, ...Place[]]> {
  if (isIP(host)) return [{ host, port }];
  const found = await find(host, { all: true });
  const [first = host, ...others] = new Set(found.map(({ address }) => address));
  const more = host === 'localhost' ? others : [];
  return [{ host: first, port }, ...more.map((other) => ({ host: other, port }))];
}

/**
 * How a server listens, so that more doors can be opened beside it.
 *
 * @param at.isShared others of this process listen there as well; see {@link requireFreePlaces}
 * @throws what listening throws where somebody else listens there
 */
export async function firstDoor(place: Place, { isShared = false } = {}): Promise<Place> {
  if (!isShared) await requireFree(place);
  return shared(place);
}

/**
 * For several who are to share the ports of an address: nobody else has them.
 *
 * @throws what listening throws where somebody else listens there
 */
export async function requireFreePlaces(address: Place): Promise<void> {
  const [first, ...others] = await findPlaces(address);
  await requireFree(first);
  for (const other of others) await requireFree(other).catch(ignoreAbsence);
}

/**
 * Opens more doors to a server that listens; what comes by them is its own, also an error in accepting.
 *
 * @param others further addresses at which it is to be found; those that this machine does not have are left out
 * @returns closes them; resolves when what came by them has gone
 * @throws what listening throws where somebody else listens there; no door is open then
 */
export async function openDoors(
  server: Server,
  others: readonly string[] = [],
  { isShared = false } = {},
): Promise<() => Promise<void>> {
  const address = server.address();
  if (!address || typeof address !== 'object') return async () => {};
  const { port } = address;
  const doors: Server[] = [];
  const closeAll = async (): Promise<void> => {
    await Promise.all(doors.map(closeServer));
  };
  const open = async (host: string, count: number): Promise<void> => {
    for (let at = 0; at < count; at++) doors.push(await openDoor(server, { host, port }));
  };
  try {
    await open(address.address, CAN_SHARE ? DOORS - 1 : 0);
    for (const host of others) {
      await (isShared ? Promise.resolve() : requireFree({ host, port }))
        .then(() => open(host, CAN_SHARE ? DOORS : 1))
        .catch(ignoreAbsence);
    }
  } catch (error) {
    await closeAll();
    throw error;
  }
  return closeAll;
}

/** Connections are as those that the server accepts by itself: over TLS one is ended when its client says no more. */
async function openDoor(server: Server, place: Place): Promise<Server> {
  const allowHalfOpen = Reflect.get(server, 'allowHalfOpen') === true;
  const door = createServer({ allowHalfOpen, noDelay: true }, (socket) =>
    server.emit('connection', socket),
  );
  await listen(door, shared(place));
  return door.on('error', (error) => server.emit('error', error));
}

/** Sharing a port with another process of the same user would succeed, and be a mistake. */
async function requireFree(place: Place): Promise<void> {
  if (CAN_SHARE && place.port !== 0) await closeServer(await listen(createServer(), place));
}

const shared = (place: Place): Place & ListenOptions =>
  CAN_SHARE ? { ...place, reusePort: true } : place;

function ignoreAbsence(err: NodeJS.ErrnoException): void {
  if (err.code !== 'EADDRNOTAVAIL' && err.code !== 'EAFNOSUPPORT') throw err;
}

/** @throws what listening throws where somebody else listens there */
export async function listen(server: Server, place: ListenOptions): Promise<Server> {
  const listening = once(server, 'listening');
  server.listen(place);
  await listening;
  return server;
}

/** Of a server that answers requests, idle connections are closed at once, others when what they asked is answered. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
