import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { connect } from 'node:tls';
import { startTestServer } from '../../../test/support/server.ts';
import { WorkerListener } from './listener.ts';
import { ENROL_PATH } from './messages.ts';

const server = await startTestServer({ after }, { jobs: [] });

test('a stranger who leaves amid an enrolment writes nothing into the log', async (t) => {
  const { app } = server.running;
  const error = t.mock.method(app.log, 'error', () => {});
  const listener = new WorkerListener(app);
  await listener.renew('one');
  const at = await listener.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => listener.close());
  for (const body of ['{', 'x'.repeat(5_000)]) {
    const secure = connect({ ...at, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    secure.on('error', () => {});
    secure.write(`POST ${ENROL_PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n${body}`);
    await wait(200);
    secure.destroy();
    await wait(200);
  }
  assert.equal(error.mock.callCount(), 0);
});
