import { type ServerOptions, WebSocket } from 'ws';
import { systemCaller } from '../../access/system-caller.ts';
import type { App } from '../../app/app.ts';
import { listOverHops } from '../../broker/sessions/connections/hops.operations.ts';
import {
  closeUnknown,
  noteTraffic,
  UNKNOWN_MS,
} from '../../broker/sessions/connections/operations.ts';
import { renewWorker } from '../../broker/workers/enrolment.operations.ts';
import { noteWorker, reportWorker } from '../../broker/workers/report.operations.ts';
import { Failure } from '../../core/failure.ts';
import { ChangedTraffic } from '../changed-traffic.ts';
import { GRACE_MS } from '../grace.ts';
import { addSender, type Sender } from '../hops/senders.ts';
import { upstreamOf } from '../serving.operations.ts';
import { answerCall, type Cut } from '../upstream.ts';
import type { Brought, Errand } from '../wire/hop.ts';
import {
  base64,
  type FromServer,
  type FromWorker,
  LINK_PROTOCOL,
  MESSAGE_BYTES,
  portable,
  requests,
} from './messages.ts';
import { parseMessage } from './reading.ts';

/** What was carried is noted with every so many-th report. */
const NOTED_EVERY = 2;

/** A worker that is asked whether it is there has so long to say so. */
const PONG_MS = 1_000;

/** A worker that is sent somewhere has so long to come back. */
const ERRAND_MS = 25_000;

/** Of the messages of one worker that are being worked on: beyond that no more are read. Each counts for so much besides. */
const WORK_BYTES = 32 << 20;
const MESSAGE_COST = 4 << 10;
/** A worker that has not taken so much of what it was told is not there. */
const UNTAKEN_BYTES = 8 << 20;
/** Nor is it answered then when it asks whether the server is there. */
const PONG_BYTES = 64 << 10;
export const LINK_OPTIONS: ServerOptions = {
  handleProtocols: () => LINK_PROTOCOL,
  perMessageDeflate: false,
  maxPayload: MESSAGE_BYTES,
  // The link answers as long as it is listened to.
  autoPong: false,
};
/** Of the reason that a WebSocket is closed with (RFC 6455 §5.5). */
const REASON_BYTES = 123;
/** Each renewal is a signature, a record, and a key. */
const RENEWAL_MS = 60_000;

/** The connection of one worker that stands alone, as its server has it. */
export class Link implements Sender {
  readonly worker_id: string;
  /** Of the key that it came with, in lower-case hex. */
  readonly key_sha256: string;
  readonly #app: App;
  readonly #ws: WebSocket;
  readonly #news = new ChangedTraffic();
  readonly #errands = new Map<number, PromiseWithResolvers<Brought>>();
  #sent = 0;
  #reports = 0;
  #isIntroduced = false;
  #isWelcome = false;
  /** Takes it away from those that are sent somewhere. */
  #takeAway = (): void => {};
  #isLeaving = false;
  /** By a clock that only goes on. */
  #renewed = Number.NEGATIVE_INFINITY;
  /** What the messages weigh that are being worked on. */
  #work = 0;
  /** By a clock that only goes on. */
  #heard = performance.now();
  /** One report after the other. */
  #reporting = Promise.resolve();

  constructor(app: App, ws: WebSocket, who: { worker_id: string; key_sha256: string }) {
    this.#app = app;
    this.#ws = ws;
    this.worker_id = who.worker_id;
    this.key_sha256 = who.key_sha256;
    ws.on('error', () => ws.terminate());
    ws.once('close', () => {
      this.#takeAway();
      for (const { reject } of this.#errands.values()) reject(lost());
    });
    ws.on('ping', (data) => {
      if (ws.bufferedAmount < PONG_BYTES) ws.pong(data);
    });
    ws.on('message', (data, isBinary) => {
      // Who is being sent away is not listened to any more.
      if (ws.readyState !== WebSocket.OPEN) return;
      if (isBinary) this.close('messages are text');
      else void this.#hear(String(data));
    });
  }

  cut(cuts: readonly Cut[], connection_ids: readonly string[] = []): void {
    if (cuts.length + connection_ids.length > 0) this.#send({ type: 'cut', cuts, connection_ids });
  }

  /** Has it dial an endpoint and bring that to another worker. @throws Failure `unresolved` */
  async bring(errand: Errand): Promise<Brought> {
    if (this.#ws.readyState !== WebSocket.OPEN) throw lost();
    const id = this.#sent++;
    const answer = Promise.withResolvers<Brought>();
    this.#errands.set(id, answer);
    const timer = setTimeout(() => answer.reject(lost()), ERRAND_MS);
    try {
      this.#send({ type: 'bring', id, errand });
      return await answer.promise;
    } finally {
      clearTimeout(timer);
      this.#errands.delete(id);
    }
  }

  /** A worker whose process has died has lost its connection at the same moment. */
  async isThere(): Promise<boolean> {
    const ws = this.#ws;
    if (this.#isLeaving || ws.readyState !== ws.OPEN) return false;
    const answer = Promise.withResolvers<boolean>();
    const no = (): void => answer.resolve(false);
    const yes = (): void => answer.resolve(!this.#isLeaving);
    const timer = setTimeout(no, PONG_MS);
    ws.once('close', no).once('pong', yes);
    ws.ping();
    try {
      return await answer.promise;
    } finally {
      clearTimeout(timer);
      ws.off('close', no).off('pong', yes);
    }
  }

  /** Nothing was heard of it for so long that it is taken to be gone. */
  get isSilent(): boolean {
    return performance.now() - this.#heard > GRACE_MS;
  }

  close(why: string, code = 1008): void {
    this.#ws.close(code, beginningOf(why));
    // What does not answer is not waited for.
    setTimeout(() => this.#ws.terminate(), 1_000).unref();
  }

  /** Never throws. */
  async #hear(text: string): Promise<void> {
    this.#heard = performance.now();
    const message = parseMessage(text);
    if (!message) {
      this.close('this is no message of a worker of this version');
      return;
    }
    const weight = text.length + MESSAGE_COST;
    this.#work += weight;
    if (this.#work > WORK_BYTES) this.#ws.pause();
    try {
      await this.#act(message, this.#app.now());
    } catch (err) {
      const why = err instanceof Failure ? err.message : 'the server could not take it in';
      if (!(err instanceof Failure)) this.#app.log.error({ err }, 'a worker’s message failed');
      this.close(why);
    } finally {
      this.#work -= weight;
      if (this.#work <= WORK_BYTES) this.#ws.resume();
    }
  }

  /** @param heard_ms when it came, Unix milliseconds */
  async #act(message: FromWorker, heard_ms: number): Promise<void> {
    if (message.type === 'hello') {
      if (this.#isIntroduced) throw new Failure('invalid', 'a worker says its hello once');
      this.#isIntroduced = true;
      await noteWorker(this.#app, this.worker_id, message);
      // It has left.
      if (this.#ws.readyState !== WebSocket.OPEN) return;
      this.#isWelcome = true;
      this.#takeAway = addSender(this.#app, this.worker_id, this);
      this.#send({ type: 'welcome', worker_id: this.worker_id, grace_ms: GRACE_MS });
      return;
    }
    if (!this.#isWelcome) throw new Failure('invalid', 'a worker begins with its hello');
    switch (message.type) {
      case 'call':
        await this.#answer(message);
        break;
      case 'brought': {
        const { id, endpoint_tcp_address, endpoint_tcp_port } = message;
        this.#errands.get(id)?.resolve({ endpoint_tcp_address, endpoint_tcp_port });
        break;
      }
      case 'not brought':
        this.#errands.get(message.id)?.reject(new Failure('unresolved', message.why));
        break;
      case 'report':
        this.#isLeaving = message.state === 'shutdown';
        this.#reporting = this.#reporting.then(() => this.#report(message, heard_ms));
        await this.#reporting;
        break;
      case 'renew':
        await this.#renew(Buffer.from(message.public_key, 'base64'));
        break;
    }
  }

  async #renew(key: Uint8Array): Promise<void> {
    const now = performance.now();
    if (now - this.#renewed < RENEWAL_MS) {
      throw new Failure('invalid', 'a certificate is renewed once a minute at most');
    }
    this.#renewed = now;
    const { certificate, roots } = await renewWorker(this.#app, this, key);
    this.#send({ type: 'renewed', certificate: base64(certificate), roots: roots.map(base64) });
  }

  async #answer({ id, name, request }: FromWorker & { type: 'call' }): Promise<void> {
    try {
      const read = requests[name].safeParse(request);
      if (!read.success) throw new Failure('invalid', `${name} does not take such a request`);
      const upstream = upstreamOf(this.#app, this.worker_id);
      const answer = await answerCall(upstream, name, read.data as never);
      this.#send({ type: 'answered', id, answer: portable(answer) });
    } catch (error) {
      const known = error instanceof Failure ? error : undefined;
      if (!known) this.#app.log.error({ err: error }, 'a worker could not be answered');
      const kind = known?.kind ?? 'unavailable';
      const message = known?.message ?? 'the server could not answer';
      this.#send({ type: 'refused', id, kind, message });
    }
  }

  async #report(
    { report_id, state, open, brought = [] }: FromWorker & { type: 'report' },
    heard_ms: number,
  ): Promise<void> {
    const { worker_id } = this;
    await reportWorker(this.#app, worker_id, state);
    this.#send({ type: 'heard', report_id });
    this.#reports += 1;
    if (this.#reports % NOTED_EVERY !== 1) return;
    await noteTraffic(this.#app, worker_id, this.#news.of(open));
    this.#news.note(open);
    const ids = new Set(open.map(({ connection_id }) => connection_id));
    const caller = systemCaller(this.#app.newId(), 'carry-session');
    // It may have waited: what was made since it was written is not in it.
    const before_ms = heard_ms - UNKNOWN_MS;
    const closed = await closeUnknown(this.#app, caller, { worker_id, open: ids }, before_ms);
    this.cut([], [...closed, ...(await listOverHops(this.#app, worker_id, brought))]);
  }

  #send(message: FromServer): void {
    this.#ws.send(JSON.stringify(message));
    if (this.#ws.bufferedAmount > UNTAKEN_BYTES) this.#ws.terminate();
  }
}

/** Of a text, as many of its characters as a WebSocket is closed with. */
function beginningOf(text: string): Buffer {
  const bytes = Buffer.alloc(REASON_BYTES);
  return bytes.subarray(0, new TextEncoder().encodeInto(text, bytes).written);
}

const lost = (): Failure => new Failure('unresolved', 'the worker does not answer');
