import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { describeEnding, type Message, signatureOf, writeMail } from './message.ts';

const endingNamed = (common_name: string, names: readonly string[] = []) =>
  describeEnding(
    {
      kind: 'certificate',
      serial: '0a:0b',
      issuer_id: 'i',
      role: 'web',
      common_name,
      not_before: 0,
      not_after: 90_000,
    },
    { names, count: names.length },
    3_600,
  );

const messageOf = (certificates: Message['certificates']): Message => ({
  id: 'm-1',
  type: 'certificates.ending',
  created_at: '1970-01-01T01:00:00.000Z',
  server: 'https://ca.test',
  mount: 'pki/',
  before: 86_400,
  certificates,
});

test('a mail about one certificate names it, one about several counts them', () => {
  const one = writeMail(messageOf([endingNamed('a.test', ['a.test', 'b.test'])]));
  assert.equal(one.subject, '[Gatehouse] a.test ends within 1 day');
  assert.match(
    one.text,
    /^- a\.test\n {2}ends 1970-01-02T01:00:00Z, serial number 0a:0b, role web\n {2}b\.test$/m,
  );
  const two = writeMail(messageOf([endingNamed('a.test'), endingNamed('b.test')]));
  assert.equal(two.subject, '[Gatehouse] 2 certificates of pki/ end within 1 day');
});

test('a mail says an hour, and what has ended already', () => {
  const alive = endingNamed('a.test');
  const ended = { ...endingNamed('b.test'), seconds_left: 0 };
  const write = (before: number, ...listed: Message['certificates']) =>
    writeMail({ ...messageOf(listed), before });
  assert.equal(write(3_600, alive).subject, '[Gatehouse] a.test ends within 1 hour');
  assert.equal(write(7_200, alive).subject, '[Gatehouse] a.test ends within 2 hours');
  const late = write(3_600, ended);
  assert.equal(late.subject, '[Gatehouse] b.test has ended');
  assert.match(late.text, /^These certificates of pki\/ have ended, and no successor is known\.$/m);
  assert.match(late.text, /^ {2}ended 1970-/m);
  const mixed = write(3_600, alive, ended);
  assert.equal(mixed.subject, '[Gatehouse] 2 certificates of pki/ end within 1 hour or have ended');
  assert.match(mixed.text, /^- a\.test\n {2}ends .*\n\n- b\.test\n {2}ended /m);
});

test('a mail lists fifty certificates and counts the rest', () => {
  const many = Array.from({ length: 200 }, (_, at) => endingNamed(`h${at}.test`));
  const { text } = writeMail(messageOf(many));
  assert.equal(text.match(/^- /gm)?.length, 50);
  assert.match(text, /^and 150 more\.$/m);
});

for (const [what, name] of [
  ['ends of lines', 'a.test\r\nBcc: victim@example.com\r\n\r\nhello'],
  ['ends of lines of Unicode', 'a\u2028b\u2029c\u0085d'],
  ['marks of direction', 'a\u202egro.elpmaxe'],
  ['64 KiB', 'x'.repeat(65_536)],
  ['64 KiB of pairs', '😀'.repeat(32_768)],
  ['half of a pair', 'a\ud800b'],
] as const) {
  test(`a name with ${what} neither ends a line of a mail nor makes it long`, () => {
    const ending = endingNamed(
      name,
      Array.from({ length: 5_000 }, () => name),
    );
    assert.ok(ending.common_name.length <= 255 && ending.common_name.isWellFormed());
    assert.equal(ending.names.length, 20);
    assert.equal(ending.more_names, 4_980);
    const { subject, text } = writeMail(messageOf([ending]));
    assert.ok(!/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(subject), JSON.stringify(subject));
    assert.ok(!/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text));
    assert.doesNotMatch(text, /^Bcc/m);
    assert.ok(subject.length < 150 && text.length < 8_000 && subject.isWellFormed());
  });
}

test('the longest message of two hundred certificates is as long as a receiver may expect', () => {
  const name = '\u0001'.repeat(300);
  const ending = endingNamed(
    name,
    Array.from({ length: 100 }, () => name),
  );
  const body = JSON.stringify(messageOf(Array.from({ length: 200 }, () => ending)));
  assert.ok(body.length < 8 << 20, `${body.length}`);
});

test('a signature is made over the time and the body', () => {
  const expected = createHmac('sha256', 'secret').update('12.{"a":1}').digest('hex');
  assert.equal(signatureOf('secret', '{"a":1}', 12), `t=12,v1=${expected}`);
});
