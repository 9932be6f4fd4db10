import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FlagTable, numberFlag, parseArguments } from './arguments.ts';

const TABLE: FlagTable = {
  data: { value: 'DIR', help: '' },
  'key-shares': { value: 'N', help: '' },
  force: { value: true, help: '' },
};

const read: [args: string[], flags: Record<string, string>, rest: string[], passed?: string[]][] = [
  [['-data', 'x'], { data: 'x' }, []],
  [['--data', 'x'], { data: 'x' }, []],
  [['-data=x=y'], { data: 'x=y' }, []],
  [['--data='], { data: '' }, []],
  [['-data', '-x'], { data: '-x' }, []],
  [['-force', 'IN'], { force: 'true' }, ['IN']],
  [['IN', '--force'], { force: 'true' }, ['IN']],
  [['-force=false', 'IN'], {}, ['IN']],
  [['--', '-force'], {}, [], ['-force']],
  [['IN', '-force', '--', '-v', '--', 'x'], { force: 'true' }, ['IN'], ['-v', '--', 'x']],
  [['-data', '--', '-force'], { data: '--', force: 'true' }, []],
  [['-h'], { help: 'true' }, []],
  [['--help'], { help: 'true' }, []],
  [['-'], {}, ['-']],
];
for (const [args, flags, rest, passed = []] of read) {
  test(`arguments are read: ${args.join(' ')}`, () => {
    const found = parseArguments(args, TABLE);
    assert.deepEqual(found, { flags: new Map(Object.entries(flags)), rest, passed });
  });
}

const refused: [args: string[], because: RegExp][] = [
  [['-dta', 'x'], /unknown flag -dta; known are -data, -key-shares, -force and -help/],
  [['-constructor'], /unknown flag -constructor/],
  [['-data'], /flag -data needs a value, DIR/],
  [['-force=maybe'], /flag -force is true or false/],
];
for (const [args, because] of refused) {
  test(`arguments are refused: ${args.join(' ')}`, () => {
    assert.throws(() => parseArguments(args, TABLE), { kind: 'invalid', message: because });
  });
}

test('a number is whole and written in digits', () => {
  const given = (value: string) => parseArguments([`-key-shares=${value}`], TABLE).flags;
  assert.equal(numberFlag(given('5'), 'key-shares'), 5);
  assert.equal(numberFlag(new Map(), 'key-shares'), undefined);
  for (const wrong of ['', '-1', '1.5', '1e3', 'five', '0x5']) {
    assert.throws(() => numberFlag(given(wrong), 'key-shares'), { kind: 'invalid' });
  }
});
