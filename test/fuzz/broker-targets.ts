/** Readers what anybody sends to the broker's API: filters, grants, list tokens, paths, masks. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  fillTemplate,
  MAX_FILLED_LENGTH,
  parseTemplate,
} from '../../src/broker/credentials/libraries/template.ts';
import { evaluateFilter } from '../../src/broker/resource/filter/evaluate.ts';
import { parseExpression } from '../../src/broker/resource/filter/expression.ts';
import { canonicalGrant, parseGrant } from '../../src/broker/resource/grants/grant.ts';
import { decodeListToken, encodeListToken } from '../../src/broker/resource/lists/token.ts';
import { deriveMask } from '../../src/broker/resource/mask.ts';
import { brokerRoutes } from '../../src/broker/routes.ts';
import { Failure } from '../../src/core/failure.ts';
import {
  compileBoundaryRoutes,
  decodeBoundaryPath,
  isBoundaryTarget,
} from '../../src/http/boundary/path.ts';
import { parseJsonBody } from '../../src/http/json.ts';
import { isWithin, measurePace } from '../support/machine.ts';
import type { FuzzTarget } from './run.ts';

const bytesOf = (...texts: string[]): Uint8Array[] =>
  texts.map((text) => new TextEncoder().encode(text));
const utf8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

const ITEM = {
  item: { name: 'web', version: 3, tags: ['a', 'b'], attributes: { port: 22 }, n: null },
};

function readFilter(bytes: Uint8Array): void {
  within(FILTER_MS, () => judgeFilter(bytes));
}

/** With the collector's turn in between; it is some 10. */
const FILTER_MS = 500;

function judgeFilter(bytes: Uint8Array): void {
  const parsed = parseExpression(utf8(bytes));
  if (!parsed.valid) throw new Failure('invalid', parsed.because);
  const verdict = evaluateFilter(parsed.expression, ITEM);
  if ('fault' in verdict) assert.equal(verdict.matches, false);
}

/** Whatever one input takes; the slowest of millions would otherwise pass unseen. */
function within(most_ms: number, work: () => void): void {
  const started = process.threadCpuUsage();
  try {
    work();
  } finally {
    const { user, system } = process.threadCpuUsage(started);
    const took = (user + system) / 1000;
    assert.ok(took < most_ms || isWithin(took, most_ms, measurePace()), `${took} ms`);
  }
}

function readTemplate(bytes: Uint8Array): void {
  const parsed = parseTemplate(utf8(bytes));
  if (!parsed.valid) throw new Failure('invalid', parsed.because);
  const facts = { 'User.Name': 'x'.repeat(512), 'Account.Email': 'a@b.test' };
  const filled = fillTemplate(parsed.template, facts, (value) => value);
  assert.ok(filled === undefined || filled.length <= MAX_FILLED_LENGTH);
}

/** What a grant is stored as means the same, and stays as it is. */
function readGrant(bytes: Uint8Array): void {
  const reading = parseGrant(utf8(bytes));
  if (!reading.valid) throw new Failure('invalid', reading.because);
  const canonical = canonicalGrant(reading.grant);
  const again = parseGrant(canonical);
  if (again.valid) assert.equal(canonicalGrant(again.grant), canonical);
}

const mac = (text: string): Uint8Array => createHash('sha256').update(text).digest();
const BOUND = { type: 'target', query: 'p_1 false ', grants: 'g' };
const LIST_TOKEN = encodeListToken(
  { ...BOUND, created_ms: 0, phase: { at: 'complete', bound_ms: 0, removed: 0 } },
  mac,
);

function readListToken(bytes: Uint8Array): void {
  decodeListToken(utf8(bytes), BOUND, 1, mac);
}

const router = compileBoundaryRoutes(brokerRoutes);

function readPath(bytes: Uint8Array): void {
  const target = `/v1/${utf8(bytes)}`;
  if (!isBoundaryTarget(target)) throw new Failure('not_found', 'another API');
  const path = decodeBoundaryPath(target);
  if (path === undefined) throw new Failure('invalid', 'no path');
  const found = router.find(path);
  if ('refused' in found) throw new Failure('invalid', `refused with ${found.refused}`);
  assert.ok(Object.keys(found.routes).length > 0);
}

function readChange(bytes: Uint8Array): void {
  const body = parseJsonBody(bytes);
  for (const path of deriveMask(body)) assert.equal(typeof path, 'string');
}

export const brokerTargets: readonly FuzzTarget[] = [
  {
    name: 'broker-filter',
    corpus: bytesOf(
      '"/item/name" == "web" and not (item.version != 3 or "a" in item.tags)',
      'any item.tags as k, v { v matches "^a+$" } or item.n is nil',
      'item.attributes["port"] == 22 and item.name not contains `x`',
      // What is made to take long, for the mutations to start from.
      `item.name matches "(${'a'.repeat(90)}){9}"`,
      'any item as a { any item as b { any item as c { c matches "(a|b)?x" or a == b } } }',
      'item.name matches "(?i)[a-z]{50}[\\\\pL]{5}"',
      '((((((not not not (item.n is nil))))))) and "/item/a/b/c/d/e" == 1',
    ),
    words: [
      '"',
      '\\',
      '`',
      '(',
      ')',
      ' and ',
      ' or ',
      'not ',
      ' in ',
      'is empty',
      ' matches "',
      '{',
      '}',
      '(a+)+',
      '{1000}',
      '\\\\pL',
      '(?i)',
      '[^\\\\x{1}-\\\\x{1e942}]',
      'any item as x { ',
    ],
    read: readFilter,
  },
  {
    name: 'broker-template',
    corpus: bytesOf(
      'secret/{{.User.Name}}/{{truncateFrom .Account.Email "@"}}',
      '{{coalesce .User.Email (truncateFrom .Account.Email "@") `a` "b\\""}} {{- .User.Id -}} x',
      `{{coalesce${'``'.repeat(500)}}}`,
      `{{${'('.repeat(15)}.User.Id${')'.repeat(15)}}}`,
      '{{.User.Name}}'.repeat(200),
    ),
    words: [
      '{{',
      '}}',
      '{{-',
      '-}}',
      '(',
      ')',
      '`',
      '"',
      '\\',
      ' coalesce ',
      'truncateFrom ',
      '.User.Name',
    ],
    read: (bytes) => within(FILTER_MS, () => readTemplate(bytes)),
  },
  {
    name: 'broker-grant',
    corpus: bytesOf(
      'ids=*;type=target;actions=list,read;output_fields=id,name',
      'ids={{.User.Id}};actions=read',
      '{"ids":["hcst_1"],"type":"host","actions":["create","list"]}',
    ),
    words: [
      ';',
      '=',
      ',',
      '*',
      'ids=',
      'id=',
      'type=',
      'actions=',
      'output_fields=',
      '{{account.id}}',
      '__proto__',
      '"ids":[',
    ],
    read: readGrant,
  },
  {
    name: 'broker-list-token',
    corpus: bytesOf(LIST_TOKEN),
    words: ['.', '='],
    read: readListToken,
  },
  {
    name: 'broker-path',
    corpus: bytesOf(
      'targets/ttcp_1:add-host-sources',
      'targets/a%2Fb:authorize-session',
      'workers:create:worker-led',
      'scopes?scope_id=global',
    ),
    words: ['/', ':', '%2F', '%3A', '%00', '%', '..', '?', 'targets', ':authorize-session'],
    read: readPath,
  },
  {
    name: 'broker-change',
    corpus: bytesOf('{"version":1,"name":null,"attributes":{"default_port":22,"a":{}}}'),
    words: ['{', '}', '"attributes":', 'null', '[', ']', '"__proto__":{}'],
    read: readChange,
  },
];
