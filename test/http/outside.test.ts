import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, describe, test } from 'node:test';
import { headOf, openTalk, until } from '../support/raw-talk.ts';
import { startTestServer } from '../support/server.ts';

const client = await startTestServer({ after });

async function answerTo(asked: string, fields: readonly string[]): Promise<string> {
  const talk = await openTalk(client, '127.0.0.1');
  talk.socket.write(headOf(client, asked, ['Connection: close', ...fields]));
  return talk.closed;
}

const NO_TYPE = '{"errors":["bad request"]}\n';
const NO_VERB = '{"message":"Route PROPFIND:/ not found","error":"Not Found","statusCode":404}';
const LENGTH = 'Content-Length: 0';

const cases: [asked: string, type: string | undefined, status: number, body?: string][] = [
  ['GET /health', undefined, 200, '{}'],
  ['GET /health', 'nonsense', 200, '{}'],
  ['POST /health', 'application/json', 405, ''],
  ['POST /health', 'nonsense', 400, NO_TYPE],
  ['PROPFIND /health', undefined, 404, NO_VERB],
  ['PROPFIND /v1/sys/health', undefined, 405],
  ['LIST /', 'nonsense', 404],
  ['POST /', undefined, 404],
  ['QUERY /', undefined, 400, NO_TYPE],
  ['QUERY /', 'a/b', 404],
  ['DELETE /', 'a/b; c="d', 404],
  ['DELETE /', ' a/b ;', 404],
  ['DELETE /', 'a /b', 400, NO_TYPE],
  ['DELETE /', 'a/b c', 400, NO_TYPE],
  ['DELETE /', 'a/', 400, NO_TYPE],
];

describe('outside the API', () => {
  for (const [asked, type, status, body] of cases) {
    test(`${asked} of the type ${type}: ${status}`, async () => {
      const fields = type === undefined ? [] : [`Content-Type: ${type}`];
      const text = await answerTo(asked, asked.startsWith('GET') ? fields : [LENGTH, ...fields]);
      assert.match(text, new RegExp(`^HTTP/1.1 ${status} `));
      assert.match(text, /^x-content-type-options: nosniff\r$/im);
      if (body !== undefined) assert.equal(text.slice(text.indexOf('\r\n\r\n') + 4), body);
      else assert.doesNotMatch(text, /bad request|statusCode/);
    });
  }
});

test('whoever has not ended a request when the server closes is told to come again', async (t) => {
  const other = await startTestServer(t, { on_one: 'the listener is looked into' });
  const { server } = other.running.http;
  const accepting = once(server, 'connection');
  const talk = await openTalk(other, '127.0.0.1');
  const [accepted] = await accepting;
  const head = headOf(other, 'GET /v1/sys/health', []);
  talk.socket.write(head.slice(0, -2));
  await until(() => accepted.bytesRead > 0);
  const closed = other.running.http.close();
  talk.socket.write('\r\n');
  const text = await talk.closed;
  await closed;
  assert.match(text, /^HTTP\/1.1 503 /);
  assert.match(text, /^connection: close\r$/im);
  assert.match(text, /^strict-transport-security: /im);
  assert.match(
    text,
    /\{"error":"Service Unavailable","message":"Service Unavailable","statusCode":503\}$/,
  );
});

test('what was asked before is answered', async (t) => {
  const other = await startTestServer(t, { on_one: 'the listener is looked into' });
  const talk = await openTalk(other, '127.0.0.1');
  talk.socket.write(headOf(other, 'GET /v1/sys/health', []));
  await talk.answers(1);
  await other.running.http.close();
  assert.match(await talk.closed, /^HTTP\/1.1 200 /);
});
