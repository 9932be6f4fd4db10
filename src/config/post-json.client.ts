import { type ClientRequest, request as requestHttp } from 'node:http';
import type { Socket } from 'node:net';
import { hostOf } from './reach.client.ts';

/** Bytes of an answer's head. */
const MOST_HEAD = 16 << 10;

/** Begins a POST of JSON text on a connection that is there, which ends with it; nothing is sent before `end`. */
export const postJsonOn = (
  socket: Socket,
  url: URL,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): ClientRequest =>
  requestHttp({
    method: 'POST',
    host: hostOf(url),
    path: `${url.pathname}${url.search}`,
    maxHeaderSize: MOST_HEAD,
    createConnection: () => socket,
    headers: {
      host: url.host,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
      ...headers,
    },
  });
