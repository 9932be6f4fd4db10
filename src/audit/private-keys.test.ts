import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { concealSecrets } from './conceal.ts';

const LINE = 'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/+Ab0123456789Zz';
const LAST = 'QIDAQAB+/8=';
const MARK = '-----BEGIN PRIVATE KEY-----';
const END = '-----END PRIVATE KEY-----';
const PEM = [MARK, LINE, LINE, LAST, END].join('\n');
const KEY = LINE + LINE + LAST;

/** With each hash as the text that it is of. */
const tell = (sent: unknown): unknown =>
  JSON.parse(concealSecrets(JSON.stringify(sent), (secret) => `<${secret}>`));

const labels = [
  'PRIVATE KEY',
  'RSA PRIVATE KEY',
  'OPENSSH PRIVATE KEY',
  'PGP PRIVATE KEY BLOCK',
  'X9 42 PRIVATE KEY',
];
for (const label of labels) {
  test(`a private key is hidden after ${label}, and the words are told`, () => {
    const sent = PEM.replaceAll('PRIVATE KEY', label);
    assert.equal(tell(sent), `-----BEGIN ${label}-----<${KEY}>\n-----END ${label}-----`);
  });
}

test('a private key is hidden in the form of programs for SSH', () => {
  const label = 'SSH2 ENCRYPTED PRIVATE KEY';
  const head = `---- BEGIN ${label} ----\nComment: "me, at\n home"\n`;
  assert.equal(
    tell(`${head}${LINE}\n${LAST}\n---- END ${label} ----\n`),
    `${head}<${LINE + LAST}>\n---- END ${label} ----\n`,
  );
});

const nest = (text: string, times: number): string =>
  times === 0 ? text : nest(JSON.stringify({ a: text }), times - 1);

const clothes: [how: string, sent: string][] = [
  ['%0A', PEM.replaceAll('\n', '%0A')],
  ['%0d%0a', PEM.replaceAll('\n', '%0d%0a')],
  ['%250A', PEM.replaceAll('\n', '%250A')],
  ['all that URLs escape', encodeURIComponent(PEM)],
  ['the whole as forms have it', new URLSearchParams({ '': PEM }).toString().slice(1)],
  ['U+2028', PEM.replaceAll('\n', '\u2028')],
  ['U+0085 and U+00A0', PEM.replaceAll('\n', '\u0085\u00a0')],
  ['a zero width blank', PEM.replaceAll('\n', '\u200b')],
  ['\\n', PEM.replaceAll('\n', '\\n')],
  ['\\\\n', PEM.replaceAll('\n', '\\\\n')],
  ['\\\\\\n', PEM.replaceAll('\n', '\\\\\\n')],
  ['a hundred backslashes', PEM.replaceAll('\n', `${'\\'.repeat(100)}n`)],
  ['\\u000a', PEM.replaceAll('\n', '\\u000a')],
  ['escaped slashes', PEM.replaceAll('/', '\\/')],
  ['escaped plus and equals signs', PEM.replaceAll('+', '\\u002b').replaceAll('=', '\\u003D')],
  ['indented', PEM.replaceAll('\n', '\n\t  ')],
  ['JSON in JSON', nest(PEM, 1)],
  ['JSON three times', nest(PEM, 3)],
  ['JSON six times', nest(PEM, 6)],
  ['JSON of it as a URL has it', encodeURIComponent(nest(PEM, 2))],
  ['a list as a text', [MARK, LINE, LINE, LAST, END].join()],
  ['a list as a text with blanks', [MARK, LINE, LINE, LAST, END].join(', ')],
  ['a list in JSON in JSON', nest(JSON.stringify([MARK, LINE, LINE, LAST, END]), 2)],
  ['no end', PEM.slice(0, 120)],
];
for (const [how, sent] of clothes) {
  test(`a private key is hidden however it is written: ${how}`, () => {
    const told = JSON.stringify(JSON.parse(concealSecrets(JSON.stringify({ sent }), () => '#')));
    assert.match(told, /#/);
    assert.ok(told.includes('BEGIN'), told);
    for (const part of [LINE, LINE.slice(0, 20), LAST.slice(0, 7)]) {
      assert.ok(!told.includes(part), told);
    }
  });
}

const headers = [
  'Comment: x',
  'Comment:x',
  'Comment: ---- some "words", and: more ----',
  'Version: GnuPG v2\nComment: a\nHash: SHA512',
  'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,\n 0A1B, x',
  'X-Key_name.1: ünïcode \\ and so on',
];
for (const header of headers) {
  test(`a private key is hidden after header lines, which are told: ${JSON.stringify(header)}`, () => {
    const head = `${MARK}\n${header}\n\n`;
    assert.equal(tell(`${head}${LINE}\n${LAST}\n${END}`), `${head}<${LINE + LAST}>\n${END}`);
  });
}

const lists: [sent: readonly string[], told: readonly string[], why: string][] = [
  [
    [MARK, LINE, LINE, LAST, END, 'admin'],
    [MARK, `<${LINE}>`, `<${LINE}>`, `<${LAST}>`, END, 'admin'],
    'each line has a hash of its own',
  ],
  [
    [MARK, 'Comment: x, y', '', `${LINE}\n`, LAST, END],
    [MARK, 'Comment: x, y', '', `<${LINE}>\n`, `<${LAST}>`, END],
    'after header lines',
  ],
  [[`${MARK}\n`, `${LINE}\r\n`], [`${MARK}\n`, `<${LINE}>\r\n`], 'with their line ends'],
  [[MARK, LINE, 'admin'], [MARK, `<${LINE}>`, 'admin'], 'a short one with no end after it is told'],
  [[MARK, 'admin', LINE], [MARK, 'admin', LINE], 'nor does anything hide after what is no line'],
  [[MARK, 'admin', END], [MARK, 'admin', END], 'nor a short one alone'],
  [[MARK, `${LINE}-`], [MARK, `${LINE}-`], 'nor one with other letters'],
  [[LINE, MARK, 'a'], [LINE, MARK, 'a'], 'nor what is before'],
];
for (const [sent, told, why] of lists) {
  test(`of a private key's lines that are items of a list, ${why}`, () => {
    assert.deepEqual(tell({ list: sent, after: 'x' }), { list: told, after: 'x' });
  });
}

const B = 'Ab'.repeat(12);
const told: [sent: unknown, why: string][] = [
  [`# ${MARK}\npath "*" { capabilities = ["sudo"] }`, 'a policy'],
  [`# ${MARK}\n# Comment: x\npath "*" { capabilities = ["sudo"] }`, 'a policy after a comment'],
  [`/* ${MARK}\nComment: x\n*/\npath "auth/${B}/*" { capabilities = ["sudo"] }`, 'and another'],
  [`path "*" { capabilities = [ # ${MARK}\n"sudo", "create", "read"] }`, 'a list in a policy'],
  [`{"path":{"${MARK}":{"capabilities":["sudo"]},"secret/+/${B}":{}}}`, 'a policy in JSON'],
  [`${MARK},admin`, 'names'],
  [`${MARK},admin,reader,operators,administrators,root`, 'many names'],
  [`${MARK}\nDEK-Info: a,admin,b\nroot`, 'names between header lines'],
  [[MARK, 'admin', 'reader', 'operators-of-all-the-machines'], 'a list of names'],
  [[MARK, 'Comment: x', 'admin', 'evil.example'], 'names after a header line'],
  [`sys/policies/acl/${MARK}boss`, 'the end of a path'],
  [`auth/${MARK}-x/role/administrators/of/all/machines`, 'a path through it'],
  [{ metadata: { a: MARK, [`${B}b`]: 'c' } }, 'names of an object'],
  [`${MARK}${B.slice(1)}`, 'too few letters'],
  [`-----BEGIN PUBLIC KEY-----\n${LINE}\n-----END PUBLIC KEY-----`, 'a public key'],
  [`-----BEGIN CERTIFICATE-----\n${LINE}\n-----END CERTIFICATE-----`, 'a certificate'],
  [`BEGIN PRIVATE KEY ${LINE}`, 'words without dashes'],
  [`${END}${LINE}`, 'an end alone'],
];
for (const [sent, why] of told) {
  test(`what no key has is told after a key's words: ${why}`, () => {
    assert.deepEqual(tell({ sent }), { sent });
  });
}

test('a name between header lines of a private key stays when the key is hidden', () => {
  const head = `${MARK}\nDEK-Info: a,admin,b\n`;
  assert.equal(tell(`${head}${LINE},root`), `${head}<${LINE}>,root`);
});

test('what is hidden of a path has the hash of its letters alone', () => {
  assert.equal(tell(`x/${MARK}${LINE}`), `x/${MARK}<${LINE}>`);
});

const SIZE = 1 << 20;
const fill = (text: string): string => text.repeat(Math.ceil(SIZE / text.length)).slice(0, SIZE);
let count = 0;
const unlike = (text: (digits: string) => string): string => {
  const parts: string[] = [];
  for (let length = 0; length < SIZE; length += parts[0]?.length ?? 1) {
    parts.push(text(String(count++).padStart(8, '0')));
  }
  return parts.join('');
};
const SSH2 = '---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----';

const worst: [what: string, sent: string | string[]][] = [
  ['beginnings', fill(MARK)],
  ['beginnings of another form', fill(SSH2)],
  ['halves of beginnings', fill(`-----BEGIN ${'A'.repeat(40)}`)],
  ['blanks of beginnings', fill(`-----BEGIN ${'%20'.repeat(40)}PRIVATE`)],
  ['dashes', `${fill('-')}BEGIN`],
  ['blanks after one', MARK + fill(' ')],
  ['%25 after one', MARK + fill('%25')],
  ['backslashes after one', MARK + fill('\\')],
  ['line ends after one', MARK + fill('\n')],
  ['line ends of all scripts', MARK + fill('\u2028\u0085\u200b\u3000')],
  ['one key', MARK + fill('A')],
  ['one key of single letters', MARK + fill('A\n')],
  ['one key, all escaped', MARK + fill('%41')],
  ['header lines', `${MARK}\n${fill('a: b\n')}`],
  ['header lines with few letters between', `${MARK}\n${fill('a: b\n c\n')}`],
  ['header lines that go on', `${MARK}\na: b\n${fill(` ${'a'.repeat(23)}${' '.repeat(500)}:\n`)}`],
  ['further lines of few letters', `${MARK}\na: b\n${fill(` a${' '.repeat(40_000)}\n`)}`],
  ['header lines without an end', fill(`${MARK}\nComment: `)],
  ['a long name of a header line', `${MARK}\n${fill('a.')}`],
  ['commas', `${MARK}${fill(',')}`],
  ['commas after a header line', `${MARK}\na: b\n${fill(',a')}`],
  ['empty items', [MARK, ...Array<string>(SIZE / 4).fill('')]],
  ['short items after a header line', [MARK, 'a: b', ...Array<string>(200_000).fill('ab')]],
  ['items that are lines', [MARK, ...unlike((at) => `${at}${B},`).split(',')]],
  ['keys, each another', unlike((at) => `${MARK}${at}${B} `)],
  ['keys with their ends', unlike((at) => `${MARK}${at}${B}${END}`)],
  ['addresses', fill('"address":["a","')],
];
for (const [what, sent] of worst) {
  test(`a megabyte takes no longer than its length: ${what}`, async () => {
    const json = JSON.stringify({ sent });
    let hashed = 0;
    const hash = (secret: string): string => {
      hashed += 1;
      return createHmac('sha256', 'k').update(secret).digest('hex');
    };
    await spendsAtMost(250, () => {
      hashed = 0;
      JSON.parse(concealSecrets(json, hash));
    });
    assert.ok(hashed <= 1_026, `${hashed} hashes`);
  });
}

test('of the keys and tokens of one record no more than 1024 have hashes of their own, taken together', () => {
  const keys = unlike((at) => `${MARK}${at}${B} `).slice(0, 600 * (MARK.length + 33));
  const tokens = unlike((at) => `hvs.${at}${B} `).slice(0, 600 * 37);
  const hashed: string[] = [];
  const told = concealSecrets(JSON.stringify([keys, tokens]), (secret) => {
    hashed.push(secret);
    return '#';
  });
  assert.equal(hashed.length, 1_025);
  assert.equal(hashed.at(-1)?.split(',').length, 1_200 - 1_024);
  assert.ok(!told.includes(B));
});

const addresses: [sent: unknown, told: unknown][] = [
  ['u:p@h:1', '<u:p>@h:1'],
  ['u@h@i:1?a#b', '<u@h>@i:1?<a#b>'],
  ['@h?', '@h?'],
  [
    ['h:1', 'u:p@h:1'],
    ['h:1', '<u:p>@h:1'],
  ],
  [
    [['h'], ['x', 'u:p w@h?a']],
    [['h'], ['x', '<u:p w>@h?<a>']],
  ],
  [
    ['/run/a@b', 'h?x'],
    ['/run/a@b', 'h?<x>'],
  ],
];
for (const [sent, stands] of addresses) {
  test(`of an address, or of each of a list, there is nobody: ${JSON.stringify(sent)}`, () => {
    const record = (address: unknown) => ({ address, next: 'a@b?c', list: ['a@b'] });
    assert.deepEqual(tell(record(sent)), record(stands));
  });
}
