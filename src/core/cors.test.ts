import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Cors, isForeignPage, judgeOrigin } from './cors.ts';

const cors: Cors = { allowed_origins: ['https://console.test'], allowed_headers: ['X-Trace'] };
const all: Cors = { allowed_origins: ['*'], allowed_headers: [] };
const none: Cors = { allowed_origins: [], allowed_headers: [] };

const ask = (
  origin: string | undefined,
  change: { method?: string; requested?: string; host?: string } = {},
) => ({
  origin,
  method: change.method ?? 'GET',
  requested: change.requested,
  host: change.host ?? 'gatehouse.test:8200',
});

const cases: [rules: Cors, asked: ReturnType<typeof ask>, outcome: string, why: string][] = [
  [cors, ask(undefined), 'go', 'no page asks'],
  [none, ask(undefined), 'go', 'no page asks, and none may'],
  [cors, ask('https://console.test'), 'go with leave', 'a page that may'],
  [cors, ask('https://console.test.evil'), '403', 'a longer name'],
  [cors, ask('http://console.test'), '403', 'another scheme'],
  [cors, ask('null'), '403', 'a page without an origin'],
  [none, ask('https://console.test'), '403', 'none may'],
  [all, ask('https://anybody.test'), 'go with leave', 'all may'],
  [none, ask('https://gatehouse.test:8200'), 'go', "the server's own page"],
  [none, ask('http://gatehouse.test:8200'), 'go', 'the same without TLS'],
  [none, ask('https://gatehouse.test'), '403', 'another port'],
  [cors, ask('https://console.test', { method: 'OPTIONS', requested: 'PATCH' }), '204', 'before'],
  [cors, ask('https://console.test', { method: 'OPTIONS', requested: 'TRACE' }), '405', 'a method'],
  [
    cors,
    ask('https://evil.test', { method: 'OPTIONS', requested: 'GET' }),
    '403',
    'before, by another',
  ],
];
for (const [rules, asked, outcome, why] of cases) {
  test(`${asked.method} from ${asked.origin} is answered "${outcome}": ${why}`, () => {
    const verdict = judgeOrigin(rules, asked);
    const leave = verdict.headers['access-control-allow-origin'] === undefined ? '' : ' with leave';
    assert.equal(verdict.go ? `go${leave}` : String(verdict.status), outcome);
  });
}

test('a page hears beforehand what it may send', () => {
  const { headers } = judgeOrigin(
    cors,
    ask('https://console.test', { method: 'OPTIONS', requested: 'POST' }),
  );
  assert.deepEqual(headers, {
    'access-control-allow-origin': 'https://console.test',
    'access-control-allow-methods': 'DELETE, GET, OPTIONS, POST, PATCH',
    'access-control-allow-headers': 'Content-Type, X-Requested-With, Authorization, X-Trace',
    'access-control-max-age': '300',
    vary: 'Origin',
  });
});

const pages: [origin: string | undefined, fetch_site: string | undefined, foreign: boolean][] = [
  [undefined, undefined, false],
  ['', undefined, false],
  [undefined, 'none', false],
  [undefined, 'same-origin', false],
  ['http://gatehouse.test:8200', 'same-origin', false],
  ['https://gatehouse.test:8200', undefined, false],
  ['http://gatehouse.test:8201', 'same-site', true],
  ['http://evil.test', undefined, true],
  ['http://gatehouse.test:8200.evil.test', undefined, true],
  ['null', 'same-origin', true],
  ['serve://boundary', undefined, true],
  [undefined, 'cross-site', true],
  ['http://gatehouse.test:8200', 'cross-site', true],
];
for (const [origin, fetch_site, foreign] of pages) {
  test(`a request from ${origin}, ${fetch_site}, is ${foreign ? 'of a foreign page' : 'of no foreign page'}`, () => {
    assert.equal(isForeignPage({ origin, fetch_site, host: 'gatehouse.test:8200' }), foreign);
  });
}
