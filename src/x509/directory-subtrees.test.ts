import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { contextConstructed, oid, sequence, setOf, TAG, tlv, utf8String } from './der.ts';
import { children, readDer } from './der-reader.ts';
import { parseNameConstraints } from './name-constraints.ts';
import { encodeSubject } from './names.ts';
import { judgeNameConstraints } from './subtrees.ts';

type Part = Record<string, string | string[]>;

const OIDS: Record<string, string> = {
  C: '2.5.4.6',
  O: '2.5.4.10',
  OU: '2.5.4.11',
  CN: '2.5.4.3',
};

/** A Name of these parts, each with its attributes in the order given. */
const nameOf = (...parts: Part[]): Uint8Array =>
  sequence(
    ...parts.map((part) =>
      setOf(
        ...Object.entries(part).flatMap(([type, values]) =>
          [values]
            .flat()
            .map((value) => sequence(oid(OIDS[type] ?? assert.fail()), utf8String(value))),
        ),
      ),
    ),
  );

type Side = 'permitted' | 'excluded';

/** nameConstraints of such subtrees alone. */
function constraintsOf(sides: Partial<Record<Side, Uint8Array[]>>) {
  const side = (tag: number, names: Uint8Array[] = []) =>
    names.length === 0
      ? []
      : [contextConstructed(tag, ...names.map((name) => sequence(contextConstructed(4, name))))];
  return parseNameConstraints(sequence(...side(0, sides.permitted), ...side(1, sides.excluded)));
}

const NONE = { dns: [], email: [], ip: [], uri: [] };
const ACME = nameOf({ C: 'CH' }, { O: 'Acme Inc' });

const table: [side: Side, name: Uint8Array, allowed: boolean, why: string][] = [
  ['permitted', nameOf({ C: 'CH' }, { O: 'Acme Inc' }, { CN: 'a' }), true, 'it begins with it'],
  ['permitted', ACME, true, 'it is the same'],
  ['permitted', nameOf({ C: 'CH' }), false, 'it is above'],
  ['permitted', nameOf({ O: 'Acme Inc' }, { C: 'CH' }), false, 'its parts stand otherwise'],
  ['permitted', nameOf({ C: 'CH' }, { O: 'Acme Incorporated' }), false, 'text is longer'],
  ['permitted', nameOf({ C: 'ch' }, { O: ' acme  INC ' }), true, 'letters and blanks say nothing'],
  ['permitted', nameOf({ C: 'CH', O: 'Acme Inc' }), false, 'one part of two attributes'],
  ['permitted', nameOf({ C: 'CH' }, { O: ['Acme Inc', 'b'] }), false, 'a part has more'],
  ['permitted', nameOf({ C: 'CH' }, { OU: 'Acme Inc' }), false, 'another type'],
  ['permitted', nameOf({ C: 'CH' }, { O: 'Ａcme Inc' }), false, 'only some would fold that'],
  ['permitted', nameOf({ C: 'CH' }, { O: 'Acme\u00ad Inc' }), false, 'only some pass over that'],
  ['permitted', nameOf(), true, 'no subject is none that could be outside'],
  ['excluded', nameOf({ C: 'CH' }, { O: 'Acme Inc' }, { CN: 'a' }), false, 'it begins with it'],
  ['excluded', nameOf({ C: 'CH' }, { O: 'ACME inc' }), false, 'letters say nothing'],
  ['excluded', nameOf({ C: 'CH' }, { O: 'Ａcme Inc' }), false, 'some would fold that'],
  ['excluded', nameOf({ C: 'CH' }, { O: 'Acme\u00ad\u00a0Inc' }), false, 'some pass over that'],
  ['excluded', nameOf({ C: 'CH' }, { O: 'Acm' }), true, 'text is shorter'],
  ['excluded', nameOf({ C: 'CH' }), true, 'it is above'],
  ['excluded', nameOf({ C: 'DE' }, { O: 'Acme Inc' }), true, 'another part'],
];
for (const [side, name, allowed, why] of table) {
  const constraints = constraintsOf({ [side]: [ACME] });
  test(`${side}: ${allowed ? 'lets pass' : 'stops'} what ${Buffer.from(name).toString('hex')} names, as ${why}`, () => {
    const asSubject = judgeNameConstraints(constraints, { ...NONE, subject: name });
    assert.equal(asSubject.allowed, allowed);
    if (name.length === 2) return;
    const alternative = { ...NONE, unknown: [contextConstructed(4, name)] };
    assert.equal(judgeNameConstraints(constraints, alternative).allowed, allowed);
  });
}

test('an empty directory name among the alternative ones is within no subtree but the empty one', () => {
  const unknown = [contextConstructed(4, nameOf())];
  const judge = (name: Uint8Array) =>
    judgeNameConstraints(constraintsOf({ permitted: [name] }), { ...NONE, unknown }).allowed;
  assert.equal(judge(ACME), false);
  assert.equal(judge(nameOf()), true);
});

test('the empty subtree holds every name, and attributes of one part have no order', () => {
  const all = constraintsOf({ excluded: [nameOf()] });
  assert.equal(judgeNameConstraints(all, { ...NONE, subject: ACME }).allowed, false);
  assert.equal(judgeNameConstraints(all, { ...NONE, dns: ['a.test'] }).allowed, true);
  const both = constraintsOf({ permitted: [nameOf({ O: 'a', OU: 'b' })] });
  const set = children(readDer(nameOf({ O: 'a', OU: 'b' })))[0] ?? assert.fail();
  const [first, second] = children(set).map(({ raw }) => raw);
  const turned = sequence(tlv(TAG.set, second ?? assert.fail(), first ?? assert.fail()));
  assert.equal(judgeNameConstraints(both, { ...NONE, subject: turned }).allowed, true);
});

test('a refusal names subject and subtree', () => {
  const verdict = judgeNameConstraints(constraintsOf({ excluded: [ACME] }), {
    ...NONE,
    subject: encodeSubject({ country: ['CH'], organization: ['ACME INC'], common_name: 'a' }),
  });
  assert.deepEqual(verdict, {
    allowed: false,
    because: 'directory name "CN=a,O=ACME INC,C=CH" is excluded by constraint "O=Acme Inc,C=CH"',
  });
});

test('a subtree that is no Name is none', () => {
  const broken = sequence(contextConstructed(0, sequence(contextConstructed(4, setOf()))));
  assert.throws(() => parseNameConstraints(broken), { kind: 'invalid' });
});

test('a name of marks alone is judged without delay', async () => {
  const marks = '\u0301\u0316'.repeat(100_000);
  const constraints = constraintsOf({ permitted: [ACME], excluded: [nameOf({ O: marks })] });
  const subject = nameOf({ O: `a${marks}` });
  await spendsAtMost(1000, () => {
    assert.equal(judgeNameConstraints(constraints, { ...NONE, subject }).allowed, false);
  });
});

test('thousands of names among thousands of subtrees that share their beginnings are judged without delay', async () => {
  const deep = Array.from({ length: 200 }, () => ({ OU: 'x' }));
  const subtrees = Array.from({ length: 300 }, (_, at) => nameOf(...deep, { OU: `${at}` }));
  const constraints = constraintsOf({ permitted: [nameOf({ O: 'a' })], excluded: subtrees });
  const name = contextConstructed(4, nameOf({ O: 'a' }, ...deep, { CN: 'a' }));
  const unknown = Array.from({ length: 1000 }, () => name);
  await spendsAtMost(2000, () => {
    assert.deepEqual(judgeNameConstraints(constraints, { ...NONE, unknown }), { allowed: true });
  });
});
