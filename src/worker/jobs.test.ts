import assert from 'node:assert/strict';
import { after, mock, test } from 'node:test';
import { makeProject } from '../../test/support/broker.ts';
import { startTestServer } from '../../test/support/server.ts';
import { listConnectionsById } from '../broker/sessions/connections/store.ts';
import { enrolWorker } from '../broker/workers/enrolment.operations.ts';
import { parseActivationToken, workerProof } from '../broker/workers/proof.ts';
import { reportWorker } from '../broker/workers/report.operations.ts';
import { listEligibleWorkers } from '../broker/workers/selection.operations.ts';
import { watchReports } from '../broker/workers/status.operations.ts';
import { newKey } from './alone/identity.ts';
import { workerJobs } from './jobs.ts';
import { upstreamOf } from './serving.operations.ts';

/** By how much the server's clock was set. */
let ahead_ms = 0;
const server = await startTestServer({ after }, { jobs: [], now: () => Date.now() + ahead_ms });
const { app } = server.running;
const project = await makeProject(server);

async function ask(path: string, body: object) {
  const reply = await project.admin.call('POST', path, body);
  assert.equal(reply.status, 200, reply.text);
  return reply;
}

/** A worker that stands alone, and a connection that it carries. */
async function startCarried(name: string) {
  const made = await server.call('POST', 'workers:create:controller-led', {
    scope_id: 'global',
    name,
  });
  const worker_id = made.textAt('id');
  const token = parseActivationToken(made.textAt('controller_generated_activation_token'));
  assert.ok(token, made.text);
  const public_key = newKey().public_key;
  const server_certificate = new Uint8Array(300);
  const proof = workerProof({ secret: token.secret, public_key, server_certificate });
  await enrolWorker(app, { public_key, nonce: token.nonce, proof, server_certificate });
  await reportWorker(app, worker_id, 'active');
  pass(1_000);
  const target = await ask('targets', {
    scope_id: project.id,
    type: 'tcp',
    name,
    address: '127.0.0.1',
    attributes: { default_port: 22 },
  });
  const session = await ask(`targets/${target.textAt('id')}:authorize-session`, {});
  const session_id = session.textAt('session_id');
  const worker = upstreamOf(app, worker_id);
  await worker.activate({ session_id, tofu_token: 'abcdefghij0123456789', version: 1 });
  const { connection_id } = await worker.authorize({ session_id });
  const carryMore = async () => (await worker.authorize({ session_id })).connection_id;
  return { worker_id, connection_id, carryMore };
}

const isClosed = async (id: string): Promise<boolean> =>
  (await listConnectionsById(app.db, [id]))[0]?.status === 'closed';

const isEligible = async (id: string): Promise<boolean> =>
  (await listEligibleWorkers(app)).some((worker) => worker.id === id);

const runJob = async (): Promise<void> => {
  const run = { commit: async () => {}, fence: () => assert.fail(), stopping: false };
  for (const job of workerJobs) if (job.name === 'broker/silent-workers') await job.run(app, run);
};

/** Of the clock that only goes on: it stands still but for what is said here. */
let gone_ms = Math.ceil(performance.now());
mock.method(performance, 'now', () => gone_ms);

/** Lets time pass, by both clocks: what was read before is read anew. */
function pass(by_ms: number): void {
  gone_ms += by_ms;
  ahead_ms += by_ms;
}

for (const step_ms of [3_600_000, -3_600_000]) {
  test(`a step of the clock by ${step_ms} ms ends nothing of a worker that reports`, async () => {
    const { worker_id, connection_id } = await startCarried(`steps-${step_ms}`);
    await watchReports(app);
    pass(5_000);
    await reportWorker(app, worker_id, 'active');
    await watchReports(app);
    ahead_ms += step_ms;
    await runJob();
    assert.equal(await isClosed(connection_id), false);
    assert.equal(await isEligible(worker_id), true, 'it is given sessions');
  });
}

for (const { silent_ms, isOver } of [
  { silent_ms: 15_000, isOver: false },
  { silent_ms: 15_001, isOver: true },
]) {
  test(`what a worker carries that was silent for ${silent_ms} ms is ${isOver ? '' : 'not '}closed`, async () => {
    const { worker_id, connection_id } = await startCarried(`silent-${silent_ms}`);
    await watchReports(app);
    pass(silent_ms);
    // It may name whatever time.
    ahead_ms -= 3_600_000;
    await runJob();
    assert.equal(await isClosed(connection_id), isOver);
    assert.equal(await isEligible(worker_id), !isOver);
  });
}

test('what a worker carries that has only just come back is not closed with what it has lost', async () => {
  const { worker_id, carryMore } = await startCarried('back');
  await watchReports(app);
  pass(16_000);
  assert.equal(await isEligible(worker_id), false, 'it is known to be silent');
  await reportWorker(app, worker_id, 'active');
  const connection_id = await carryMore();
  await runJob();
  assert.equal(await isClosed(connection_id), false);
});

test('what a worker carries that says that it goes is closed at once', async () => {
  const { worker_id, connection_id } = await startCarried('goes');
  await reportWorker(app, worker_id, 'shutdown');
  ahead_ms += 1_000;
  await runJob();
  assert.equal(await isClosed(connection_id), true);
  assert.equal(await isEligible(worker_id), false);
});

for (const { old_ms, isChosen } of [
  { old_ms: 14_000, isChosen: true },
  { old_ms: 16_000, isChosen: false },
]) {
  test(`a worker whose report of ${old_ms} ms ago nobody saw come is ${isChosen ? '' : 'not '}given sessions, and loses nothing`, async () => {
    const { worker_id, connection_id } = await startCarried(`unseen-${old_ms}`);
    // Nobody has looked for a minute.
    pass(60_000);
    await reportWorker(app, worker_id, 'active');
    ahead_ms += old_ms;
    await runJob();
    assert.equal(await isClosed(connection_id), false);
    assert.equal(await isEligible(worker_id), isChosen);
  });
}
