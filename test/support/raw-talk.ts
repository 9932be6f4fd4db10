import { connect, type Socket } from 'node:net';
import type { Client } from './server.ts';

/** A connection on which a test says what it likes, byte for byte. */
export interface Talk {
  socket: Socket;
  /** Everything that came. */
  text(): string;
  /** What came until the server hung up. */
  closed: Promise<string>;
  /** Resolves when so many answers have begun. */
  answers(count: number): Promise<void>;
}

/** @param localAddress the client's, in 127.0.0.0/8: each is a party of its own */
export async function openTalk(client: Client, localAddress: string): Promise<Talk> {
  const socket = connect({ port: client.running.address.port, host: '127.0.0.1', localAddress });
  let text = '';
  const listeners: (() => void)[] = [];
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
    for (const one of listeners) one();
  });
  // The server may hang up while something is being sent.
  socket.on('error', () => {});
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  const answers = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (text.split('HTTP/1.1 ').length > count) resolve();
      };
      listeners.push(look);
      look();
    });
  return { socket, text: () => text, closed, answers };
}

/**
 * A request's head as clients send it.
 *
 * @param asked its method and target
 */
export const headOf = (client: Client, asked: string, fields: readonly string[]): string =>
  [`${asked} HTTP/1.1`, `Host: ${new URL(client.url).host}`, ...fields, '', ''].join('\r\n');

/** Until it is so: what is waited for comes in a later turn of this process. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}
