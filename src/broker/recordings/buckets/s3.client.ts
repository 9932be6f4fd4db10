import { createHash } from 'node:crypto';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { AwsV4Signer } from 'aws4fetch';
import { lookupWithin, type Reach, refuseLiteral } from '../../../config/reach.client.ts';
import { Failure } from '../../../core/failure.ts';
import { reachOfWorkers, type Tunnel } from '../../workers/tunnels.ts';
import { type ObjectStore, StorageFault } from './objects.ts';

/** One bucket of a server that speaks S3. */
export interface S3Bucket {
  /** URL of the server. */
  endpoint: string;
  region: string;
  bucket_name: string;
  /** Empty, or ending in `/`. */
  prefix: string;
  access_key_id: string;
  secret_access_key: string;
}

/** Milliseconds without a byte in either direction. */
const IDLE_MS = 20_000;
/** Of one request with its answer, however steadily that comes. */
const WHOLE_MS = 60_000;
/** Bytes of an object: no piece of a recording is longer. */
const MOST_OBJECT = 2 << 20;
/** Bytes of an answer that refuses. */
const MOST_REFUSAL = 16 << 10;
const MOST_HEAD = 16 << 10;

const refuse = (kind: 'barred' | 'unreachable', because: string): StorageFault =>
  new StorageFault(kind === 'barred' ? `the S3 server is not to be reached: ${because}` : because);

/**
 * The objects of a bucket, asked for by path. A file is as many objects as it has pieces: none is
 * ever changed.
 *
 * @param reach where servers may be; judged as names are resolved
 * @param open  a way through a worker, if the server is not asked directly; undefined all the same where it may be
 */
export function s3Objects(bucket: S3Bucket, reach: Reach, open?: OpenWay): ObjectStore {
  const pieceOf = (name: string, at: number): string => `${name}/${String(at).padStart(8, '0')}`;
  const talk = (order: Omit<Order, 'bucket' | 'reach' | 'open'>) =>
    exchange({ ...order, bucket, reach, open });
  return {
    async append(name, at, piece) {
      await drain(await talk({ method: 'PUT', name: pieceOf(name, at), body: piece }));
    },
    async *read(name, pieces) {
      for (let at = 0; at < pieces; at += 1) {
        const answer = await talk({ method: 'GET', name: pieceOf(name, at) });
        const { bytes, isAll } = await readSome(answer, MOST_OBJECT);
        if (!isAll) throw new StorageFault('an object is longer than any that was written');
        yield bytes;
      }
    },
    async remove(name, pieces) {
      for (let at = 0; at < pieces; at += 1) {
        await drain(await talk({ method: 'DELETE', name: pieceOf(name, at) }));
      }
    },
    removeFolder: async () => {},
  };
}

/** Opens one for one exchange. @throws Failure */
type OpenWay = (url: URL) => Promise<Tunnel | undefined>;

interface Order {
  bucket: S3Bucket;
  reach: Reach;
  open: OpenWay | undefined;
  method: 'PUT' | 'GET' | 'DELETE';
  name: string;
  body?: Uint8Array;
}

/** @throws StorageFault for everything but an answer of status 2xx, and for 404 to a DELETE */
async function exchange(order: Order): Promise<IncomingMessage> {
  const { bucket, method, name, body } = order;
  const url = new URL(bucket.endpoint);
  url.pathname = `/${bucket.bucket_name}/${bucket.prefix}${name}`;
  const { open, reach } = order;
  refuseLiteral(open ? { ...reach, reach: reachOfWorkers(reach.reach) } : reach, url, refuse);
  const sha256 = createHash('sha256')
    .update(body ?? '')
    .digest('hex');
  const signer = new AwsV4Signer({
    method,
    url: url.href,
    headers: { 'x-amz-content-sha256': sha256 },
    accessKeyId: bucket.access_key_id,
    secretAccessKey: bucket.secret_access_key,
    service: 's3',
    region: bucket.region,
  });
  const { headers } = await signer.sign();
  const tunnel = await open?.(url).catch((cause: unknown) => {
    if (!(cause instanceof Failure)) throw cause;
    throw new StorageFault(`the S3 server cannot be reached: ${cause.message}`, { cause });
  });
  if (!tunnel) refuseLiteral(reach, url, refuse);
  const answer = await send(order, { url, tunnel }, Object.fromEntries(headers));
  const { statusCode = 0 } = answer;
  if (statusCode >= 200 && statusCode < 300) return answer;
  const code = errorCode((await readSome(answer, MOST_REFUSAL)).bytes.toString('utf8'));
  if (method === 'DELETE' && statusCode === 404 && code !== 'NoSuchBucket') return answer;
  throw new StorageFault(`the S3 server answered ${statusCode}${code === '' ? '' : ` (${code})`}`);
}

function send(
  { method, body, reach }: Order,
  { url, tunnel }: { url: URL; tunnel: Tunnel | undefined },
  headers: Record<string, string>,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void => reject(asFault(cause));
    const sent = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      method,
      maxHeaderSize: MOST_HEAD,
      // What a worker dials it has judged.
      ...(tunnel ? { socketPath: tunnel.path } : { lookup: lookupWithin(reach, refuse) }),
      // One connection for each: whatever a name led to is judged anew.
      agent: false,
      headers: { ...headers, ...(body ? { 'content-length': body.length } : {}) },
      timeout: IDLE_MS,
    });
    let answer: IncomingMessage | undefined;
    const giveUp = (why: string): void =>
      void (answer ?? sent).destroy(new StorageFault(`the S3 server ${why}`));
    const late = setTimeout(() => giveUp('takes too long'), WHOLE_MS).unref();
    sent.on('timeout', () => giveUp('does not answer'));
    sent.on('error', fail);
    // With its answer, which comes by the same connection.
    sent.on('close', () => {
      clearTimeout(late);
      tunnel?.close();
    });
    sent.on('upgrade', (_answer, socket) => {
      socket.destroy();
      fail(new StorageFault('the S3 server changes the protocol'));
    });
    sent.on('response', (begun) => {
      answer = begun;
      resolve(begun);
    });
    sent.end(body);
  });
}

const asFault = (cause: unknown): StorageFault =>
  cause instanceof StorageFault
    ? cause
    : new StorageFault(
        `the S3 server cannot be reached: ${(cause as NodeJS.ErrnoException | undefined)?.code ?? 'the connection failed'}`,
        { cause },
      );

async function drain(answer: IncomingMessage): Promise<void> {
  await readSome(answer, MOST_REFUSAL);
}

/** The beginning of an answer, in the room that it takes, however it is cut; what is longer is let go of. */
async function readSome(
  answer: IncomingMessage,
  most: number,
): Promise<{ bytes: Buffer; isAll: boolean }> {
  let room = Buffer.allocUnsafe(MOST_REFUSAL);
  let length = 0;
  try {
    for await (const bytes of answer) {
      const part = bytes as Buffer;
      if (length + part.length > most) return { bytes: room.subarray(0, length), isAll: false };
      if (length + part.length > room.length) {
        room = Buffer.concat([room], Math.max(2 * room.length, length + part.length));
      }
      part.copy(room, length);
      length += part.length;
    }
    return { bytes: room.subarray(0, length), isAll: true };
  } catch (cause) {
    throw asFault(cause);
  } finally {
    answer.destroy();
  }
}

/** Of an error document: its code alone, which is a word of S3's own. */
const errorCode = (text: string): string =>
  /<Code>([A-Za-z0-9]{1,64})<\/Code>/.exec(text)?.[1] ?? '';
