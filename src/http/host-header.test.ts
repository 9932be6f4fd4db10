import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultOfHost } from './host-header.ts';

const TWO = /more than one/;
const NONE = /no Host header/;
const NO_HOST = /names no host/;

const cases: [headers: string[], version: string, fault: RegExp | undefined, why: string][] = [
  [['Host', 'a.test'], '1.1', undefined, 'a name'],
  [['hOST', 'a.test:8200'], '1.1', undefined, 'a name with a port, in any case'],
  [['Host', 'a.test:'], '1.1', undefined, 'a port that is left out'],
  [['Host', 'a_b.test.'], '1.1', undefined, 'a name that no registrar sells'],
  [['Host', 'xn--bcher-kva.test'], '1.1', undefined, 'a name in another alphabet'],
  [['Host', '127.0.0.1:8200'], '1.1', undefined, 'an address'],
  [['Host', '[::1]:8200'], '1.1', undefined, 'an address in brackets'],
  [['X-Host', 'b.test', 'Host', 'a.test', 'Hosts', 'c'], '1.1', undefined, 'one among look-alikes'],
  [[], '1.0', undefined, 'none, where none was known'],
  [[], '1.1', NONE, 'none, where one must be'],
  [['X-Host', 'a.test'], '1.1', NONE, 'only a look-alike'],
  [['Host', 'a.test', 'host', 'b.test'], '1.1', TWO, 'two'],
  [['Host', 'a.test', 'Host', 'a.test'], '1.1', TWO, 'the same twice'],
  [['Host', 'a.test', 'Host', 'b.test'], '1.0', TWO, 'two, in any version'],
  [['Host', ''], '1.1', NO_HOST, 'the empty name'],
  [['Host', ''], '1.0', NO_HOST, 'the empty name, in any version'],
  [['Host', 'a.test, b.test'], '1.1', NO_HOST, 'two in one'],
  [['Host', 'a.test,b.test'], '1.1', NO_HOST, 'two in one, without a space'],
  [['Host', 'user@a.test'], '1.1', NO_HOST, 'somebody at a name'],
  [['Host', 'a.test/x'], '1.1', NO_HOST, 'a path'],
  [['Host', 'http://a.test'], '1.1', NO_HOST, 'a URL'],
  [['Host', 'a.test:80:80'], '1.1', NO_HOST, 'two ports'],
  [['Host', 'a.test:x'], '1.1', NO_HOST, 'a port that is no number'],
  [['Host', '::1'], '1.1', NO_HOST, 'an address without its brackets'],
  [['Host', 'bücher.test'], '1.1', NO_HOST, 'letters that are not ASCII'],
];

for (const [headers, version, fault, why] of cases) {
  test(`HTTP/${version} with ${JSON.stringify(headers)}: ${why}`, () => {
    const found = faultOfHost(headers, version);
    if (fault) assert.match(found ?? '', fault);
    else assert.equal(found, undefined);
  });
}
