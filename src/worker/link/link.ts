import type { WebSocket } from 'ws';
import { systemCaller } from '../../access/system-caller.ts';
import type { App } from '../../app/app.ts';
import { closeUnknown, noteTraffic } from '../../broker/sessions/connections/operations.ts';
import { renewWorker } from '../../broker/workers/enrolment.operations.ts';
import { noteWorker, reportWorker } from '../../broker/workers/report.operations.ts';
import { Failure } from '../../core/failure.ts';
import { ChangedTraffic } from '../changed-traffic.ts';
import { GRACE_MS } from '../grace.ts';
import { upstreamOf } from '../serving.operations.ts';
import { answerCall, type Cut, type Traffic } from '../upstream.ts';
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

/** The connection of one worker that stands alone, as its server has it. */
export class Link {
  readonly worker_id: string;
  /** Of the key that it came with, in lower-case hex. */
  readonly key_sha256: string;
  readonly #app: App;
  readonly #ws: WebSocket;
  readonly #news = new ChangedTraffic();
  #reports = 0;
  #isWelcome = false;
  /** One report after the other. */
  #reporting = Promise.resolve();

  constructor(app: App, ws: WebSocket, who: { worker_id: string; key_sha256: string }) {
    this.#app = app;
    this.#ws = ws;
    this.worker_id = who.worker_id;
    this.key_sha256 = who.key_sha256;
    ws.on('error', () => ws.terminate());
    ws.on('message', (data, isBinary) => {
      if (isBinary) this.close('messages are text');
      else this.#hear(String(data));
    });
  }

  cut(cuts: readonly Cut[], connection_ids: readonly string[] = []): void {
    if (cuts.length + connection_ids.length > 0) this.#send({ type: 'cut', cuts, connection_ids });
  }

  close(why: string): void {
    this.#ws.close(1008, why.slice(0, 120));
    // What does not answer is not waited for.
    setTimeout(() => this.#ws.terminate(), 1_000).unref();
  }

  #hear(text: string): void {
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
      case 'report':
        this.#reporting = this.#reporting.then(() => this.#report(message));
        await this.#reporting;
        break;
      case 'renew': {
        const key = Buffer.from(message.public_key, 'base64');
        const { certificate, roots } = await renewWorker(this.#app, this.worker_id, key);
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

  async #report({ state, open }: FromWorker & { type: 'report' }): Promise<void> {
    const { worker_id } = this;
    await reportWorker(this.#app, worker_id, state);
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

function parse(text: string): FromWorker | undefined {
  try {
    const read = fromWorker.safeParse(JSON.parse(text));
    return read.success ? read.data : undefined;
  } catch {
    return undefined;
  }
}
