import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../../../test/support/cpu-time.ts';
import { fillTemplate, parseTemplate, type TemplateFacts } from './template.ts';

const facts: TemplateFacts = {
  'User.Id': 'u_1',
  'User.Name': 'Ada',
  'Account.LoginName': 'ada',
  'Account.Email': 'ada@example.com',
};

const filled: [text: string, value: string][] = [
  ['secret/ada', 'secret/ada'],
  ['secret/{{.User.Id}}/{{ .User.Name }}', 'secret/u_1/Ada'],
  ['{{.User.Email}}', ''],
  ['{{truncateFrom .Account.Email "@"}}', 'ada'],
  ['{{truncateFrom .Account.Email "#"}}', 'ada@example.com'],
  ['{{coalesce .User.Email .Account.LoginName}}', 'ada'],
  ['{{coalesce .User.Email "guest"}}', 'guest'],
  ['{{coalesce .User.Email (truncateFrom .Account.Email "@")}}', 'ada'],
  ['{{truncateFrom `a b` " "}}', 'a'],
  ['a {{- .User.Id -}} b', 'au_1b'],
  ['}} stays', '}} stays'],
];

for (const [text, value] of filled) {
  test(`${text} becomes "${value}"`, () => {
    const parsed = parseTemplate(text);
    assert.ok(parsed.valid);
    assert.equal(
      fillTemplate(parsed.template, facts, (one) => one),
      value,
    );
  });
}

const refused: [text: string, because: RegExp][] = [
  ['{{.User.Password}}', /".User.Password" is not known/],
  ['{{.User}}', /not known/],
  ['{{User.Id}}', /not known/],
  ['{{.User.Id', /without/],
  ['{{}}', /empty/],
  ['{{.User.Id .User.Name}}', /not expected/],
  ['{{.User.Id | truncateFrom "@"}}', /not expected/],
  ['{{truncateFrom .User.Id}}', /takes/],
  ['{{(coalesce .User.Id}}', /without/],
  ['{{env "HOME"}}', /not known/],
  ['{{"open}}', /cannot be read/],
];

for (const [text, because] of refused) {
  test(`${text} is refused`, () => {
    const parsed = parseTemplate(text);
    assert.ok(!parsed.valid);
    assert.match(parsed.because, because);
  });
}

const nested = (depth: number): string => `{{${'('.repeat(depth)}.User.Id${')'.repeat(depth)}}}`;

const limits: [within: string, beyond: string, because: RegExp][] = [
  ['x'.repeat(4096), 'x'.repeat(4097), /more than 4096 characters/],
  [nested(16), nested(17), /deeper than 16/],
];

for (const [within, beyond, because] of limits) {
  test(`a template of ${within.length} characters is read, one of ${beyond.length} is not: ${because.source}`, () => {
    assert.ok(parseTemplate(within).valid);
    const parsed = parseTemplate(beyond);
    assert.ok(!parsed.valid);
    assert.match(parsed.because, because);
  });
}

const LONG = 500_000;
const long: [why: string, text: string][] = [
  ['values without end', `{{coalesce${'``'.repeat(LONG)}}}`],
  ['values with blanks', `{{coalesce${' `` '.repeat(LONG)}}}`],
  ['values that are not closed', `{{coalesce${'``'.repeat(LONG)}`],
  ['brackets', `{{${'('.repeat(LONG)}}}`],
  ['parts', '{{.User.Id}}'.repeat(LONG / 10)],
  ['trimmed parts', ' {{- .User.Id -}} '.repeat(LONG / 10)],
  ['openings', '{{'.repeat(LONG)],
  ['blanks before what cannot be read', `{{${' '.repeat(LONG)}"}}`],
  ['a quote with escapes that does not end', `{{"${'\\\\'.repeat(LONG)}}}`],
];

for (const [why, text] of long) {
  test(`a template of a million characters is read or refused in time that grows with it: ${why}`, async () => {
    await spendsAtMost(2_000, () => void parseTemplate(text, Number.POSITIVE_INFINITY));
  });
}

test('what a template becomes has an end', () => {
  const parsed = parseTemplate('{{.User.Name}}'.repeat(200));
  assert.ok(parsed.valid);
  const fill = (length: number) =>
    fillTemplate(parsed.template, { 'User.Name': 'x'.repeat(length) }, (one) => one);
  assert.equal(fill(327)?.length, 65_400);
  assert.equal(fill(328), undefined);
});
