import { signOwnInTurn } from '../../../access/concurrency/signatures.operations.ts';
import { type App, perApp } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { FewInTurn } from '../../../core/fairness/few-in-turn.ts';
import { OnDemandThread } from '../../../core/on-demand.pool.ts';
import { isCheap } from '../../../x509/algorithms.ts';
import { type AssembledCrl, attachSignature, tbsOf } from '../../../x509/crl-assembly.ts';
import { openSigner, type Signer, signWithKey } from '../../keys/signing.operations.ts';
import type { Key } from '../../mount-state/key.ts';
import { type CrlJob, spanOf } from './job.ts';
import { makeCrl, remakeCrl, type SignedCrl } from './jobs.ts';
import type { CrlTask, FromCrlThread, ToCrlThread } from './messages.ts';
import { reportExternalMemory } from './weight.ts';

/** CRLs that are made of at most so many revocations are made on the calling thread. */
const SHORT = 1000;

/**
 * Makes and signs a CRL: a short one at once, a long one on a thread of its own.
 *
 * @throws Failure `conflict` for a CRL longer than it may be, `unavailable` while sealed
 */
export async function makeSignedCrl(
  app: App,
  job: CrlJob,
  signer: { mount_id: string; key: Key },
): Promise<SignedCrl> {
  const { mount_id, key } = signer;
  if (spanOf(job.content) <= SHORT) {
    const make = () =>
      makeCrl(app.db, job, (tbs) =>
        signOwnInTurn(app, key, () => signWithKey(app, mount_id, key, job.algorithm, tbs)),
      );
    return isCheap(key) ? make() : costlyOf(app)(make);
  }
  let opened: Signer | undefined;
  const answer = await makingOf(app).run(async () => {
    // In its turn: a server that is sealed meanwhile has no key any more.
    opened = await openSigner(app, mount_id, key);
    const { private_key } = opened;
    const task: CrlTask = private_key ? { kind: 'make', key: private_key } : { kind: 'lay out' };
    return { job, task };
  });
  if (answer.type === 'laid out' && opened) {
    const signature = await opened.sign(job.algorithm, tbsOf(answer.layout));
    const crl = attachSignature(answer.layout, job.algorithm, signature);
    reportExternalMemory(crl.der);
    return { crl, signature };
  }
  if (answer.type !== 'made') throw new Error(`the CRL thread answered "${answer.type}"`);
  return { crl: answer.crl, signature: answer.signature };
}

/** Makes a CRL again that was signed before; undefined: it cannot be had any more. */
export async function remakeSignedCrl(
  app: App,
  job: CrlJob,
  signed: { signature: Uint8Array; public_key: Uint8Array },
): Promise<AssembledCrl | undefined> {
  if (spanOf(job.content) <= SHORT) return remakeCrl(app.db, job, signed);
  const task: CrlTask = { kind: 'remake', ...signed };
  const answer = await makingOf(app).run(async () => ({ job, task }));
  if (answer.type !== 'remade') throw new Error(`the CRL thread answered "${answer.type}"`);
  return answer.crl;
}

const makingOf = perApp((app) => {
  const thread = threadOf(app);
  const inTurn = takeTurns(app);
  return {
    run: (order: () => Promise<Omit<ToCrlThread, 'id'>>): Promise<FromCrlThread> =>
      inTurn(async () => thread.run(await order())),
  };
});

/** Short CRLs whose signature takes long: a mount may have a thousand of them, all due at once. */
const costlyOf = perApp(takeTurns);

/**
 * One at a time, in turn by whom they are made for: some mounts have many CRLs, and whoever asks for another one
 * waits for one of them. Those that wait when the server stops are not begun.
 */
function takeTurns(app: App): <Made>(make: () => Promise<Made>) => Promise<Made> {
  const turns = new FewInTurn(1);
  let isClosed = false;
  // What was opened last is closed first, and so this before the thread.
  app.onClose(() => {
    isClosed = true;
  });
  return (make) =>
    turns.run(() => {
      if (isClosed) throw new Failure('unavailable', 'the server is stopping');
      return make();
    });
}

/** A CRL of a million entries takes some seconds, and as long again where the database is slow. */
const DEADLINE_MS = 120_000;

const threadOf = perApp((app) => {
  const thread = new OnDemandThread<Omit<ToCrlThread, 'id'>, FromCrlThread, FromCrlThread>({
    name: 'lists',
    beside: import.meta.url,
    log: app.log,
    data: app.store.place,
    undone: 'the CRL was not built',
    deadline_ms: DEADLINE_MS,
    read: answerIn,
  });
  app.onClose(() => thread.stop());
  // With the thread goes the key that it may be signing with.
  app.barrier.onSeal(() => thread.stop());
  return thread;
});

function answerIn(answer: FromCrlThread): FromCrlThread {
  if ('crl' in answer && answer.crl) reportExternalMemory(answer.crl.der);
  if (answer.type === 'refused') throw new Failure(answer.kind, answer.message);
  if (answer.type === 'failed') throw new Error(answer.message);
  return answer;
}
