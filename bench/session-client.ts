// The client of sessions, a process of its own: raw TLS, and frames that are made beforehand, so that it costs
// alike whatever it speaks to.

import { connect, type TLSSocket } from 'node:tls';
import { sessionKey } from '../src/broker/sessions/session-key.ts';
import { encodePem } from '../src/core/pem.ts';
import {
  firstMessage,
  frameOf,
  OPCODE,
  type SessionSecrets,
  UPGRADE,
} from '../test/support/session-client.ts';

export interface ClientTask {
  kind: 'up' | 'down' | 'connections' | 'idle';
  port: number;
  session: SessionSecrets;
  /** Whether it speaks as a session's client does; otherwise only TLS. */
  framed: boolean;
  /** Bytes to move, or connections to open. */
  count: number;
  /** Connections that are being opened at once. */
  at_once?: number;
}

export interface ClientResult {
  milliseconds: number;
  /** Connections that were lost. */
  lost: number;
}

/** As large as Boundary's own client makes them. */
const FRAME = 32 << 10;
const FRAMES = Array.from({ length: 16 }, () => frameOf(OPCODE.binary, Buffer.alloc(FRAME, 7)));

function openTls({ port, session }: ClientTask): Promise<TLSSocket> {
  const pem = pems(session);
  const secure = connect({
    host: '127.0.0.1',
    port,
    servername: session.session_id,
    ALPNProtocols: ['http/1.1', session.session_id],
    ...pem,
    minVersion: 'TLSv1.3',
    checkServerIdentity: () => undefined,
  });
  secure.setNoDelay(true);
  return new Promise((resolve, reject) => {
    secure.once('error', reject).once('secureConnect', () => resolve(secure));
  });
}

const known = new Map<string, { ca: string; cert: string; key: string | Buffer }>();

const pems = (session: SessionSecrets) =>
  known.getOrInsertComputed(session.session_id, () => {
    const cert = encodePem('CERTIFICATE', session.certificate);
    const key = sessionKey(session.private_key).export({ type: 'pkcs8', format: 'pem' });
    return { ca: cert, cert, key };
  });

/** Through the hand-shake: what follows are the session's bytes. */
async function open(task: ClientTask): Promise<TLSSocket> {
  const secure = await openTls(task);
  if (!task.framed) return secure;
  secure.write(Buffer.concat([Buffer.from(UPGRADE), firstMessage()]));
  let heard = Buffer.alloc(0);
  await new Promise<void>((resolve, reject) => {
    const gone = (): void => reject(new Error(`closed: ${heard.toString('latin1')}`));
    const hear = (piece: Buffer): void => {
      heard = Buffer.concat([heard, piece]);
      const end = heard.indexOf('\r\n\r\n');
      if (end < 0 || heard.length < end + 6 || heard.length < end + 6 + (heard[end + 5] ?? 0))
        return;
      secure.off('data', hear).off('close', gone);
      if (heard[end + 4] === 0x82) resolve();
      else reject(new Error(`refused: ${heard.subarray(end + 4).toString('latin1')}`));
    };
    secure.on('data', hear).once('close', gone);
  });
  return secure;
}

const say = ({ framed }: ClientTask, text: string): Buffer =>
  framed ? frameOf(OPCODE.binary, Buffer.from(text)) : Buffer.from(text);

async function move(task: ClientTask): Promise<ClientResult> {
  const { kind, count } = task;
  const secure = await open(task);
  const begun = performance.now();
  const done = new Promise<void>((resolve, reject) => {
    let heard = 0;
    secure.once('close', () => reject(new Error(`closed after ${heard} bytes`)));
    secure.on('data', (piece: Buffer) => {
      heard += piece.length;
      if (heard >= (kind === 'up' ? 1 : count)) resolve();
    });
  });
  secure.write(say(task, `${kind === 'up' ? 'u' : 'd'}${count}\n`));
  if (kind === 'up') send(secure, count);
  await done;
  const milliseconds = performance.now() - begun;
  secure.destroy();
  return { milliseconds, lost: 0 };
}

function send(secure: TLSSocket, count: number): void {
  let sent = 0;
  let next = 0;
  const go = (): void => {
    while (sent < count) {
      sent += FRAME;
      const frame = FRAMES[next++ % FRAMES.length] ?? FRAMES[0];
      if (frame && !secure.write(frame)) {
        secure.once('drain', go);
        return;
      }
    }
  };
  go();
}

async function echo(task: ClientTask): Promise<void> {
  const secure = await open(task);
  const heard = new Promise<void>((resolve, reject) => {
    secure.once('data', () => resolve()).once('close', () => reject(new Error('closed')));
  });
  secure.write(say(task, '.'));
  await heard;
  secure.end(task.framed ? frameOf(OPCODE.close, Buffer.from([3, 232])) : '');
  secure.resume();
}

const kept: TLSSocket[] = [];

async function openMany(task: ClientTask): Promise<ClientResult> {
  let left = task.count;
  let lost = 0;
  const begun = performance.now();
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      try {
        if (task.kind === 'idle') kept.push(await open(task));
        else await echo(task);
      } catch (error) {
        if (lost === 0) console.error(error);
        lost += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: task.at_once ?? 16 }, one));
  return { milliseconds: performance.now() - begun, lost };
}

process.on('message', (task: ClientTask) => {
  const run = task.kind === 'up' || task.kind === 'down' ? move(task) : openMany(task);
  run.then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
