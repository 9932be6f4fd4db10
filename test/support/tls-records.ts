import { createCipheriv, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';

// A TLS client that writes its own records once the handshake is done: those that no client would send.

const HANDSHAKE = 22;
const DATA = 23;
/** "From now on I use other keys, do so too." */
const UPDATE_REQUESTED = Buffer.from([24, 0, 0, 1, 1]);

/** HKDF-Expand-Label with SHA-256 and no context (RFC 8446 §7.1); all that is needed is one block long. */
function expand(secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = [Buffer.from([0, length, name.length]), name, Buffer.from([0, 1])];
  return createHmac('sha256', secret).update(Buffer.concat(info)).digest().subarray(0, length);
}

/** Enciphers what a client says (RFC 8446 §5.2). */
class Records {
  #secret: Buffer;
  #key: Uint8Array = new Uint8Array();
  #iv: Uint8Array = new Uint8Array();
  #count = 0;

  constructor(secret: Buffer) {
    this.#secret = secret;
    this.#derive();
  }

  data(text: string): Buffer {
    return this.#record(DATA, Buffer.from(text));
  }

  /** Asks for other keys, and goes over to its own. */
  update(): Buffer {
    const record = this.#record(HANDSHAKE, UPDATE_REQUESTED);
    this.#secret = expand(this.#secret, 'traffic upd', 32);
    this.#derive();
    return record;
  }

  #derive(): void {
    this.#key = expand(this.#secret, 'key', 16);
    this.#iv = expand(this.#secret, 'iv', 12);
    this.#count = 0;
  }

  #record(type: number, content: Buffer): Buffer {
    const inner = Buffer.concat([content, Buffer.from([type])]);
    const length = inner.length + 16;
    const head = Buffer.from([DATA, 3, 3, length >> 8, length & 255]);
    const nonce = Buffer.from(this.#iv);
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ this.#count) >>> 0, 8);
    this.#count += 1;
    const cipher = createCipheriv('aes-128-gcm', this.#key, nonce).setAAD(head);
    return Buffer.concat([head, cipher.update(inner), cipher.final(), cipher.getAuthTag()]);
  }
}

/** Shakes hands; then the socket is the caller's, who reads from it or does not. */
export async function connectForRecords(
  port: number,
  localAddress: string,
): Promise<{ socket: Socket; records: Records }> {
  const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  const between = new Duplex({
    read() {},
    write(bytes, _encoding, done) {
      socket.write(bytes, done);
    },
  });
  const feed = (bytes: Buffer): void => {
    between.push(bytes);
  };
  socket.on('data', feed);
  const client = connectTls({
    socket: between,
    rejectUnauthorized: false,
    minVersion: 'TLSv1.3',
    ciphers: 'TLS_AES_128_GCM_SHA256',
  });
  const secret = new Promise<Buffer>((resolve) => {
    client.on('keylog', (line: Buffer) => {
      const [label, , text = ''] = line.toString().trim().split(' ');
      if (label === 'CLIENT_TRAFFIC_SECRET_0') resolve(Buffer.from(text, 'hex'));
    });
  });
  await once(client, 'secureConnect');
  const records = new Records(await secret);
  socket.off('data', feed);
  socket.pause();
  return { socket, records };
}
