// A session's client down to its bytes: what a test says is up to it, frame by frame.

import { randomBytes } from 'node:crypto';
import { connect, type TLSSocket } from 'node:tls';
import { makeSessionCertificate } from '../../src/broker/sessions/session-certificate.ts';
import { sessionKey } from '../../src/broker/sessions/session-key.ts';
import { encodePem } from '../../src/core/pem.ts';
import { encodeClientHandshake } from '../../src/worker/wire/handshake.ts';

/** What a client has of a session. */
export interface SessionSecrets {
  session_id: string;
  certificate: Uint8Array;
  private_key: Uint8Array;
}

export const TOFU = 'abcdefghij0123456789';

export function makeSessionSecrets(session_id = 's_1234567890'): SessionSecrets {
  const now = Math.floor(Date.now() / 1000);
  const made = makeSessionCertificate({
    session_id,
    worker_addresses: ['127.0.0.1:1'],
    seed: randomBytes(32),
    serial: randomBytes(8),
    now,
    expires_at: now + 3600,
  });
  return { session_id, ...made };
}

export const OPCODE = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A frame as clients send it (RFC 6455 §5.2), whole and masked. */
export function frameOf(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  const mask = randomBytes(4);
  const masked = payload.map((byte, at) => byte ^ (mask[at & 3] ?? 0));
  return Buffer.concat([head, mask, masked]);
}

export const firstMessage = (tofu_token = TOFU, cancels = false): Buffer =>
  frameOf(OPCODE.binary, encodeClientHandshake({ tofu_token, cancels }));

export const UPGRADE = [
  'GET /v1/proxy HTTP/1.1',
  'Host: worker',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Protocol: boundary-tcp-proxy-v1',
  '',
  '',
].join('\r\n');

export interface SecureOptions {
  /** Whose certificate is shown; null: none. */
  shows?: SessionSecrets | null;
  protocols?: string[];
  servername?: string;
  /** From which of this machine's addresses. */
  localAddress?: string;
}

/** @throws Error of TLS, with the alert that came in its `code` */
export function openSecure(
  session: SessionSecrets,
  port: number,
  options: SecureOptions = {},
): Promise<TLSSocket> {
  const { shows = session, servername = session.session_id } = options;
  const secure = connect({
    host: '127.0.0.1',
    port,
    servername,
    ...(options.localAddress !== undefined && { localAddress: options.localAddress }),
    ALPNProtocols: options.protocols ?? ['http/1.1', session.session_id],
    ca: encodePem('CERTIFICATE', session.certificate),
    minVersion: 'TLSv1.3',
    checkServerIdentity: () => undefined,
    ...(shows && {
      cert: encodePem('CERTIFICATE', shows.certificate),
      key: sessionKey(shows.private_key).export({ type: 'pkcs8', format: 'pem' }),
    }),
  });
  return new Promise((resolve, reject) => {
    secure.once('error', reject);
    secure.once('secureConnect', () => {
      secure.off('error', reject);
      // Whoever is cut off sees its close.
      secure.on('error', () => {});
      resolve(secure);
    });
  });
}

interface Frame {
  opcode: number;
  payload: Buffer;
}

/** What a worker says: an HTTP answer, and frames behind it. */
export class Heard {
  readonly socket: TLSSocket;
  #bytes = Buffer.alloc(0);
  #isClosed = false;
  #wake: (() => void)[] = [];

  constructor(socket: TLSSocket) {
    this.socket = socket;
    const wake = (): void => {
      for (const one of this.#wake.splice(0)) one();
    };
    socket.on('data', (piece: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, piece]);
      wake();
    });
    socket.once('close', () => {
      this.#isClosed = true;
      wake();
    });
  }

  /** The head of an HTTP answer; what came until the end where there is none. */
  async head(): Promise<string> {
    for (;;) {
      const end = this.#bytes.indexOf('\r\n\r\n');
      if (end >= 0) return this.#take(end + 4).toString('latin1');
      if (this.#isClosed) return this.#bytes.toString('latin1');
      await this.#more();
    }
  }

  /** The next frame; undefined when the connection is closed before it. */
  async frame(): Promise<Frame | undefined> {
    for (;;) {
      const frame = this.#findFrame();
      if (frame) return frame;
      if (this.#isClosed) return undefined;
      await this.#more();
    }
  }

  /** What the worker closes it with, after whatever else comes. */
  async closing(): Promise<string> {
    for (;;) {
      const frame = await this.frame();
      if (!frame) return 'closed without a code';
      if (frame.opcode !== OPCODE.close) continue;
      return `${frame.payload.readUInt16BE(0)} ${frame.payload.subarray(2).toString()}`;
    }
  }

  /** When the connection is closed. */
  async closed(): Promise<void> {
    while (!this.#isClosed) await this.#more();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake.push(resolve);
    });
  }

  #take(length: number): Buffer {
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return taken;
  }

  #findFrame(): Frame | undefined {
    const bytes = this.#bytes;
    const [first = 0, short = 0] = bytes;
    if (bytes.length < 2) return undefined;
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (bytes.length < head) return undefined;
    const length =
      head === 2 ? short : head === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (bytes.length < head + length) return undefined;
    const payload = this.#take(head + length).subarray(head);
    return { opcode: first & 15, payload };
  }
}

/** Opens the WebSocket with the first message, as clients may: both in one write. */
export async function openRaw(
  session: SessionSecrets,
  port: number,
  first: Uint8Array = firstMessage(),
): Promise<Heard> {
  const secure = await openSecure(session, port);
  const heard = new Heard(secure);
  secure.write(Buffer.concat([Buffer.from(UPGRADE), first]));
  const head = await heard.head();
  if (!head.startsWith('HTTP/1.1 101 ')) throw new Error(head);
  return heard;
}
