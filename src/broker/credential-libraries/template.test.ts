import assert from 'node:assert/strict';
import { test } from 'node:test';
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
