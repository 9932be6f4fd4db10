import { encodeString, WireReader } from '../../ssh/wire.ts';
import { SshFault } from './transport/fault.ts';
import { MESSAGE } from './transport/messages.ts';
import type { SshTransport } from './transport/transport.ts';

/** Once is enough. */
const MOST_SERVICE_REQUESTS = 4;

/**
 * Lets a client in, whoever it says it is and whatever it shows: the session has proved who it is. It is kept
 * waiting until `ready`, so that it hears why when there is nothing to be let in to.
 *
 * @param ready with what the endpoint has said before its log-in
 * @throws SshFault when the client wants something else; what `ready` throws
 */
export async function receiveClient(
  transport: SshTransport,
  ready: Promise<readonly Buffer[]>,
): Promise<void> {
  for (let requests = 0; ; ) {
    const message = await transport.receive();
    if (!message) throw new SshFault('the client has gone');
    const read = new WireReader(message.subarray(1));
    if (message[0] === MESSAGE.SERVICE_REQUEST) {
      if (++requests > MOST_SERVICE_REQUESTS) throw new SshFault('the client never logs in');
      const service = read.name();
      if (service !== 'ssh-userauth') throw new SshFault('there is no such service');
      const accept = [Buffer.of(MESSAGE.SERVICE_ACCEPT), encodeString(service)];
      await transport.send(Buffer.concat(accept));
    } else if (message[0] === MESSAGE.USERAUTH_REQUEST) {
      read.string();
      if (read.name() !== 'ssh-connection') throw new SshFault('there is no such service');
      for (const banner of await ready) await transport.send(banner);
      return transport.send(Buffer.of(MESSAGE.USERAUTH_SUCCESS));
    } else throw new SshFault('a log-in must come first');
  }
}
