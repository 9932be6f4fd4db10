import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROOMS } from '../../../core/rooms.ts';
import { GrantSet } from '../grants/decision.ts';
import { faultOfGrantLengths, parseGrant } from '../grants/grant.ts';
import type { EffectiveGrant } from '../grants/reach.ts';
import { BROUGHT_GRANTS } from './brought.ts';
import { MOST_OF_ORG, sizeOfGrants, sizeOfRole } from './grant-room.ts';

const many = (count: number, of: string | ((at: number) => string)): string =>
  Array.from({ length: count }, (_, at) => (typeof of === 'string' ? of : of(at))).join();
const name = (at: number): string => at.toString(36).padStart(3, '0');
const id = (at: number): string => `r_${name(at)}`;

/** What a role may be full of, and how many grants of it. */
const ROLES: [what: string, grants: (at: number) => string, count: number][] = [
  ['single ids', () => `ids=${many(1_350, id)};actions=read`, 31],
  ['ids of no letters', () => `ids=${many(2_700, 'r_')};actions=read`, 31],
  ['ids written with escapes', () => `{"ids":[${many(500, () => '"r\\u005f"')}],"actions":["read"]}`, 31],
  ['the one id without a low line', () => `ids=${many(1_160, 'global')};actions=read`, 31],
  ['output fields', () => `ids=*;type=*;actions=read;output_fields=${many(2_030, name)}`, 31],
  ['fields of one letter', () => `ids=*;type=*;actions=read;output_fields=${many(4_000, 'a')}`, 31],
  ['fields of none', () => `ids=*;type=*;actions=read;output_fields=${many(8_000, '')}`, 31],
  ['actions', () => `ids=*;type=*;actions=${many(1_600, 'read')}`, 31],
  ['short grants', () => 'type=role;actions=list', 1_000],
  ['grants of single ids', (at) => `ids=${id(at)};actions=read`, 1_000],
  ['templates', () => 'ids={{.User.Id}};actions=read', 1_000],
  ['a grant', (at) => `ids=${id(at)};actions=read`, 1],
]; // biome-ignore format: one table

for (const [what, grantOf, count] of ROLES) {
  test(`all roles of an org, each full of ${what}, have room where they are filed`, () => {
    const grant_strings = Array.from({ length: count }, (_, at) => grantOf(at));
    assert.equal(faultOfGrantLengths(grant_strings), undefined);
    const held = grant_strings.map((text): EffectiveGrant => {
      const reading = parseGrant(text);
      assert.ok(reading.valid, text.slice(0, 80));
      const { grant } = reading;
      return { grant, text, role_id: 'r_1', role_scope_id: 'o_1', grant_scope_ids: ['this'] };
    });
    const roles = MOST_OF_ORG / sizeOfGrants({ grant_strings, grant_scope_ids: ['this'] });
    const own = new GrantSet('user', []).bytes;
    const filed = roles * (new GrantSet('user', held).bytes - own);
    assert.ok(filed < ROOMS.broker_heavy_roles * 0.85, `${filed / (1 << 20)} MiB`);
  });
}

test('what a scope began with takes no room until it is changed, and what is like it does', () => {
  const rows: [grants: readonly string[], where: string, version: number, isCounted: boolean][] = [
    [BROUGHT_GRANTS.project, 'this', 1, false],
    [BROUGHT_GRANTS.org, 'this', 1, false],
    [BROUGHT_GRANTS.administration, 'this', 1, false],
    [BROUGHT_GRANTS.project, 'this', 2, true],
    [BROUGHT_GRANTS.org, 'this', 2, true],
    [BROUGHT_GRANTS.administration, 'this', 7, true],
    [BROUGHT_GRANTS.org, 'children', 1, true],
    [[...BROUGHT_GRANTS.project].reverse(), 'this', 1, true],
    [[...BROUGHT_GRANTS.project, ...BROUGHT_GRANTS.administration], 'this', 1, true],
    [BROUGHT_GRANTS.project.slice(0, 1), 'this', 1, true],
    [[], 'this', 1, true],
  ];
  for (const [grant_strings, where, version, isCounted] of rows) {
    const body = { grant_strings, grant_scope_ids: [where] };
    const expected = isCounted ? sizeOfGrants(body) : 0;
    const why = `${grant_strings.join(' ')} ${where} ${version}`;
    assert.equal(sizeOfRole({ version, body }), expected, why);
  }
});

test('an org has about a thousand roles that it made, however little they grant', () => {
  const rows: [grants: readonly string[], most: number][] = [
    [[], 1_050],
    [['ids=*;type=target;actions=list'], 1_000],
    [BROUGHT_GRANTS.org, 800],
  ];
  for (const [grant_strings, most] of rows) {
    const roles = MOST_OF_ORG / sizeOfGrants({ grant_strings, grant_scope_ids: ['this'] });
    assert.ok(roles <= most && roles > most * 0.7, `${roles} ${grant_strings.join(' ')}`);
  }
});
