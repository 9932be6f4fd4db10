import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuUntil } from '../../test/support/cpu-time.ts';
import { compiledAcl } from '../../test/support/judged.ts';
import { holdBounds } from '../../test/support/machine.ts';
import { longestTurn } from '../../test/support/turns.ts';
import { list } from '../core/fields.ts';
import { type Acl, boundAcl } from './acl.ts';
import type { OwnPath } from './name-form.ts';
import { OwnJudge } from './own-judge.ts';
import { readerOfFields } from './parameter-reader.ts';
import { parsePolicy } from './policy-reader.ts';
import { ALLOWED, TOO_MUCH } from './verdict.ts';

const reader = readerOfFields({ policies: list(), metadata: list() });
const THOUSAND = Array.from({ length: 1000 }, (_, at) => at.toString(36));

const stanza = (path: string, rule: string): string =>
  `path "${path}" { capabilities = ["update"] ${rule} }`;
const compile = (text: string): Acl => compiledAcl([parsePolicy(text)], 0);
/** As of a token that was made eight tokens down. */
const nineTimes = (acl: () => Acl): Acl => Array.from({ length: 9 }, acl).reduce(boundAcl);

const joined = (id: string): OwnPath => ({ path: `entity/id/${id}`, alike: ['policies'] });
const thousandDenied = (of: string): string =>
  THOUSAND.map((id) => stanza(`entity/id/${id}`, of)).join('\n');

const longField = THOUSAND.map((id) => 'q'.repeat(60) + id);
const DENIED = 'denied_parameters = { "policies" = ["*!"] }';

test('fields are read once, however many rules judge them', async () => {
  let readings = 0;
  const counting: typeof reader = {
    ...reader,
    walk(name, value, ...paid) {
      if (value === longField) readings += 1;
      return reader.walk(name, value, ...paid);
    },
  };
  const judge = new OwnJudge({ parameters: { policies: longField }, reader: counting });
  const acl = compile(thousandDenied(DENIED));
  assert.equal(await judge.judge(acl, THOUSAND.slice(0, 100).map(joined)), ALLOWED);
  assert.equal(readings, 1);
});

test('a rule judges in each sense by itself, and a thing that has passed is judged in others', async () => {
  const acl = compile(stanza('a', 'denied_parameters = { "policies" = ["x"] "metadata" = ["y"] }'));
  const cases: [sent: Record<string, unknown>, own: Omit<OwnPath, 'path'>, isAllowed: boolean][] = [
    [{ policies: ['x'] }, { alike: [] }, true],
    [{ policies: ['x'] }, { alike: ['metadata'] }, true],
    [{ policies: ['x'] }, { alike: ['policies'] }, false],
    [{ policies: ['x'] }, { stands_for: ['policies'] }, true],
    [{ policies: ['x'] }, { stands_for: ['metadata'] }, false],
    [{ policies: ['x'] }, {}, false],
    [{ policies: ['z'], metadata: ['y'] }, { part: ['policies'] }, true],
    [{ policies: ['z'], metadata: ['y'] }, { part: ['metadata'] }, false],
  ];
  for (const [parameters, sense, isAllowed] of cases) {
    const judge = new OwnJudge({ parameters, reader });
    assert.equal(await judge.judge(acl, [{ path: 'a', alike: [] }]), ALLOWED);
    const { allowed } = await judge.judge(acl, [{ path: 'a', ...sense }]);
    assert.equal(allowed, isAllowed, `${JSON.stringify(parameters)} ${JSON.stringify(sense)}`);
  }
});

test('the last of a thousand things is judged as the first is', async () => {
  const last = THOUSAND.at(-1) ?? '';
  const acl = compile(
    `${stanza('entity/id/+', DENIED)}\npath "entity/id/${last}" { capabilities = ["deny"] }`,
  );
  const judge = () => new OwnJudge({ parameters: { policies: longField }, reader });
  assert.equal(await judge().judge(acl, THOUSAND.slice(0, -1).map(joined)), ALLOWED);
  assert.equal((await judge().judge(acl, THOUSAND.map(joined))).allowed, false);
});

test('permissions that were changed meanwhile are asked anew', async () => {
  const judge = new OwnJudge({ parameters: { policies: ['x'] }, reader });
  assert.equal(await judge.judge(compile(stanza('entity/id/a', DENIED)), [joined('a')]), ALLOWED);
  const denies = compile(stanza('entity/id/a', 'denied_parameters = { "policies" = ["x"] }'));
  assert.equal((await judge.judge(denies, [joined('a')])).allowed, false);
});

test('what has passed is not judged again by the very same rules, and is by all that are others', async () => {
  const [own, maker] = [compile(stanza('entity/id/+', DENIED)), compile(stanza('*', ''))];
  const equal = compile(stanza('entity/id/+', DENIED));
  const cases: [what: string, Acl, isSame: boolean][] = [
    ['made anew of the same tables', boundAcl({ ...own }, { ...maker }), true],
    ['without what bounds it', { ...own }, false],
    ['by other tables that say the same', boundAcl(equal, maker), false],
    ['bounded once more by the same', boundAcl(boundAcl(own, maker), maker), true],
    ['bounded once more by others', boundAcl(boundAcl(own, maker), equal), false],
    ['in another order', boundAcl(maker, own), false],
  ];
  for (const [what, acl, isSame] of cases) {
    const budget = { left: 1_000_000 };
    const judge = new OwnJudge({ parameters: { policies: ['x'] }, reader, budget });
    assert.equal(await judge.judge(boundAcl(own, maker), [joined('a')]), ALLOWED);
    const before = budget.left;
    assert.equal(await judge.judge(acl, [joined('a')]), ALLOWED);
    assert.equal(budget.left === before, isSame, what);
  }
});

test('what passes by rules that are replaced meanwhile has not passed by the next ones', async () => {
  const judge = new OwnJudge({ parameters: { policies: longField }, reader });
  const paths = THOUSAND.map(joined);
  const last = `entity/id/${THOUSAND.at(-1)}`;
  const denying = compile(
    `${stanza('entity/id/+', DENIED)}\npath "${last}" { capabilities = ["deny"] }`,
  );
  let next: Promise<unknown> | undefined;
  // It is the turn of the other judging whenever a path is asked for.
  const asked = {
    *[Symbol.iterator]() {
      for (const path of paths) {
        next ??= judge.judge(denying, paths.slice(0, 1));
        yield path;
      }
    },
  };
  const all = Object.assign([...paths], asked);
  assert.equal(await judge.judge(compile(thousandDenied('')), all), ALLOWED);
  await next;
  assert.equal((await judge.judge(denying, paths)).allowed, false);
});

test('what has passed takes nothing more of the budget, also when it is planned anew', async () => {
  const acl = nineTimes(() => compile(stanza('entity/id/+', DENIED)));
  const judge = new OwnJudge({ parameters: { policies: longField }, reader });
  for (let plan = 0; plan < 60; plan++) {
    assert.equal(await judge.judge(acl, THOUSAND.map(joined)), ALLOWED, `plan ${plan}`);
  }
});

const unfilled = THOUSAND.map(
  (id) =>
    `path "entity/id/{{identity.entity.metadata.k${id}}}x${id}" { capabilities = ["update","delete"] ${DENIED} }`,
).join('\n');
const heads = THOUSAND.map((_, at) => stanza(`entity/id/${'h'.repeat(at)}*`, DENIED)).join('\n');

/** Policies, things, and whether that is too much to judge. */
const WORST: [what: string, policy: string, tables: 1 | 9, own: OwnPath[], isTooMuch: boolean][] = [
  ['one rule', stanza('entity/id/+', DENIED), 1, THOUSAND.map(joined), false],
  ['one rule of nine', stanza('entity/id/+', DENIED), 9, THOUSAND.map(joined), false],
  ['denials of others', `${stanza('*', '')}\npath "entity/id/boss" { capabilities = ["deny"] }`, 9, THOUSAND.map(joined), false],
  ['a thousand rules that name no field', thousandDenied(''), 9, THOUSAND.map(joined), false],
  ['a thousand rules', thousandDenied(DENIED), 1, THOUSAND.map(joined), true],
  ['nine thousand rules', thousandDenied(DENIED), 9, THOUSAND.map(joined), true],
  ['a thousand rules for all fields', thousandDenied(DENIED), 9, THOUSAND.map((id) => ({ path: `entity/id/${id}` })), true],
  ['a thousand that nothing fills', unfilled, 1, THOUSAND.map(joined), true],
  ['nine thousand that nothing fills', unfilled, 9, THOUSAND.map(joined), true],
  ['a thousand beginnings', heads, 9, THOUSAND.map((id) => joined('h'.repeat(900) + id)), true],
]; // biome-ignore format: one table

for (const [what, policy, tables, paths, isTooMuch] of WORST) {
  test(`a thousand things under ${what}, with long fields: nobody waits for long, and it has an end`, async () => {
    const acl = tables === 1 ? compile(policy) : nineTimes(() => compile(policy));
    // In the first place what is made once for a table is made.
    const judge = () => new OwnJudge({ parameters: { policies: longField }, reader });
    await judge().judge(acl, paths.slice(0, 1));
    // Some 5 to 70 ms in all, and 6 to 15 in one turn; without the bounds up to 25 seconds in one.
    await holdBounds({ all: 200, turn: 50 }, async () => {
      let all = 0;
      const turn = await longestTurn(async () => {
        all = await cpuUntil(async () => {
          const verdict = await judge().judge(acl, paths);
          assert.equal(verdict === TOO_MUCH, isTooMuch);
          assert.equal(verdict.allowed, !isTooMuch);
        });
      });
      return { all, turn };
    });
  });
}

test('what grants an operation is looked for with the same budget', async () => {
  const paths = THOUSAND.map((id) => `entity/id/${id}`);
  const rule = 'path "entity/id/*" { capabilities = ["delete"] }';
  const granted = (text: string, tables = 1) => {
    const acl = tables === 1 ? compile(text) : nineTimes(() => compile(text));
    return new OwnJudge({}).judgeGranted(acl, 'delete', paths);
  };
  assert.equal(await granted(rule), ALLOWED);
  assert.equal(await granted(rule, 9), ALLOWED);
  const but = `${rule}\npath "entity/id/${THOUSAND.at(-1)}" { capabilities = ["update"] }`;
  const refused = await granted(but);
  assert.ok(!refused.allowed && refused !== TOO_MUCH);
  assert.equal(await granted(`${rule}\n${unfilled}`), TOO_MUCH);
});
