import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdsNobodyUp } from '../../test/support/turns.ts';
import { doAll } from '../core/steps.ts';
import { compileAcl } from './acl.ts';
import { parsePolicy } from './policy-reader.ts';
import { spellTables } from './spelling.ts';

const users = (count: number): string =>
  Array.from(
    { length: count },
    (_, at) => `path "auth/people/users/Boss${at}" { capabilities = ["deny"] }`,
  ).join('\n');

test('what those go on to do who waited for the same rules to be spelt is not one turn', () =>
  holdsNobodyUp(async () => {
    const { tables } = doAll(compileAcl([parsePolicy(users(500))], 0));
    const asked = {
      path: 'auth/people/users/boss1',
      formed: [{ at: 3, form: 'lower_case' as const }],
    };
    const all = Array.from({ length: 500 }, async () => {
      const [spelt] = await spellTables(tables, asked, { left: 1_000_000 });
      await undefined;
      for (const end = performance.now() + 0.2; performance.now() < end; );
      return spelt;
    });
    assert.equal(new Set(await Promise.all(all)).size, 1);
  }));
