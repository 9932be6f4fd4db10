import type { WebSocket } from 'ws';
import { systemCaller } from '../../access/system-caller.ts';
import type { App } from '../../app/app.ts';
import { closeUnknown, noteTraffic } from '../../broker/sessions/connections/operations.ts';
import { renewWorker } from '../../broker/workers/enrolment.operations.ts';
import { noteWorker, reportWorker } from '../../broker/workers/report.operations.ts';
import { Failure } from '../../core/failure.ts';
import { ChangedTraffic } from '../changed-traffic.ts';
import { GRACE_MS } from '../grace.ts';
import type { Sender } from '../hops/senders.ts';
import { upstreamOf } from '../serving.operations.ts';
import { answerCall, type Cut, type Traffic } from '../upstream.ts';
import type { Brought, Errand } from '../wire/hop.ts';
import {
  base64,
  type FromServer,
  type FromWorker,
  fromWorker,
  portable,
  requests,
} from './messages.ts';

/** What was carried is noted with every so many-th report. */
const NOTED_EVERY = 2;

/** A worker that is asked whether it is there has so long to say so. */
const PONG_MS = 1_000;

/** A worker that is sent somewhere has so long to come back. */
const ERRAND_MS = 25_000;

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
  #isWelcome = false;
  #isLeaving = false;
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
      for (const { reject } of this.#errands.values()) reject(lost());
    });
    ws.on('message', (data, isBinary) => {
      if (isBinary) this.close('messages are text');
      else this.#hear(String(data));
    });
  }

  cut(cuts: readonly Cut[], connection_ids: readonly string[] = []): void {
    if (cuts.length + connection_ids.length > 0) this.#send({ type: 'cut', cuts, connection_ids });
  }

  /** Has it dial an endpoint and bring that to another worker. @throws Failure `unresolved` */
  async bring(errand: Errand): Promise<Brought> {
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

  close(why: string): void {
    this.#ws.close(1008, why.slice(0, 120));
    // What does not answer is not waited for.
    setTimeout(() => this.#ws.terminate(), 1_000).unref();
  }

  #hear(text: string): void {
    this.#heard = performance.now();
    const message = parse(text);
    if (!message) {
      this.close('this is no message of a worker of this version');
      return;
    }
    this.#act(message).catch((err: unknown) => {
      const why = err instanceof Failure ? err.message : 'the server could not take it in';
      if (!(err instanceof Failure)) this.#app.log.error({ err }, 'a worker’s message failed');
      this.close(why);
    });
  }

  async #act(message: FromWorker): Promise<void> {
    if (message.type === 'hello') {
      await noteWorker(this.#app, this.worker_id, message);
      this.#isWelcome = true;
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
        this.#reporting = this.#reporting.then(() => this.#report(message));
        await this.#reporting;
        break;
      case 'renew': {
        const key = Buffer.from(message.public_key, 'base64');
        const { certificate, roots } = await renewWorker(this.#app, this, key);
        this.#send({
          type: 'renewed',
          certificate: base64(certificate),
          roots: roots.map(base64),
        });
        break;
      }
    }
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

  async #report({ report_id, state, open }: FromWorker & { type: 'report' }): Promise<void> {
    const { worker_id } = this;
    await reportWorker(this.#app, worker_id, state);
    this.#send({ type: 'heard', report_id });
    this.#reports += 1;
    if (this.#reports % NOTED_EVERY !== 1) return;
    const news: Traffic[] = this.#news.of(open);
    await noteTraffic(this.#app, worker_id, news);
    const ids = new Set(open.map(({ connection_id }) => connection_id));
    const caller = systemCaller(this.#app.newId(), 'carry-session');
    const closed = await closeUnknown(this.#app, caller, { worker_id, open: ids });
    this.cut([], closed);
  }

  #send(message: FromServer): void {
    this.#ws.send(JSON.stringify(message));
  }
}

const lost = (): Failure => new Failure('unresolved', 'the worker does not answer');

function parse(text: string): FromWorker | undefined {
  try {
    const read = fromWorker.safeParse(JSON.parse(text));
    return read.success ? read.data : undefined;
  } catch {
    return undefined;
  }
}
