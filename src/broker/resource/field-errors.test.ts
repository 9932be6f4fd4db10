import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import {
  type CommonFields,
  checkChanged,
  checkLengths,
  checkNew,
  FieldErrors,
  refuseField,
} from './field-errors.ts';

function fieldsOf(work: () => void): Record<string, string> {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof Failure);
    assert.equal(error.kind, 'invalid');
    return error.detail.fields ?? {};
  }
  return {};
}

const judge = (check: typeof checkNew, item: CommonFields): Record<string, string> =>
  fieldsOf(() => {
    const errors = new FieldErrors();
    check(item, errors);
    errors.refuse('Error in provided request.');
  });

const READ_ONLY = 'This is a read only field.';
const FIXED = 'This is a read only field and cannot be specified in an update request.';
const NO_VERSION = 'Existing resource version is required for an update.';

const created: [item: CommonFields, fields: Record<string, string>, why: string][] = [
  [{}, {}, 'nothing is required of all'],
  [{ id: 'ttcp_1' }, { id: READ_ONLY }, 'the server chooses ids'],
  [{ id: '' }, {}, 'an empty id is none'],
  [
    { created_time: 'x', updated_time: 'x', version: 1 },
    {
      created_time: READ_ONLY,
      updated_time: READ_ONLY,
      version: 'Cannot specify this field in a create request.',
    },
    'each is named',
  ],
  [{ version: 0 }, {}, 'version 0 is none'],
  [{ name: '' }, { name: 'Cannot set empty string as name' }, 'an empty name'],
  [{ name: ' \t' }, { name: 'Cannot set empty string as name' }, 'a name of blanks'],
  [{ name: 'a\nb' }, { name: 'Name contains unprintable characters' }, 'a line end within'],
  [{ name: 'a\u0000' }, { name: 'Name contains unprintable characters' }, 'a control character'],
  [{ name: 'a\u200bb' }, { name: 'Name contains unprintable characters' }, 'what takes no room'],
  [{ name: 'a'.repeat(512), description: 'a'.repeat(1024) }, {}, 'the longest name and text'],
  [
    { description: 'a'.repeat(1025) },
    { description: 'Description must have at most 1024 characters' },
    'a description of which a page full would be large',
  ],
  [
    { name: 'a'.repeat(513) },
    { name: 'Name must have at most 512 characters' },
    'a name that is longer than a key of the database may be',
  ],
  [{ name: ' padded\n' }, {}, 'what is trimmed away does no harm'],
  [{ name: 'Größe 漢字 🙂 a/b' }, {}, 'every script, symbols and slashes'],
  [{ description: '' }, { description: 'Cannot set empty string as description' }, 'empty'],
  [{ description: 'a\nb\tc' }, {}, 'a description may have lines'],
  [
    { description: 'a\u0007' },
    { description: 'Description contains unprintable characters' },
    'bell',
  ],
];

for (const [item, fields, why] of created) {
  test(`a new item with ${JSON.stringify(item)}: ${why}`, () => {
    assert.deepEqual(judge(checkNew, item), fields);
  });
}

const changed: [item: CommonFields, fields: Record<string, string>, why: string][] = [
  [{ version: 1 }, {}, 'the version is enough'],
  [{}, { version: NO_VERSION }, 'and necessary'],
  [{ version: 0 }, { version: NO_VERSION }, '0 is none'],
  [
    { version: 1, id: 'x', created_time: 'x', updated_time: 'x' },
    { id: FIXED, created_time: FIXED, updated_time: FIXED },
    'each is named',
  ],
  [{ version: 1, name: '' }, { name: 'Cannot set empty string as name' }, 'an empty name'],
  [{ version: 1, name: 'x' }, {}, 'a name'],
];

for (const [item, fields, why] of changed) {
  test(`a change with ${JSON.stringify(item)}: ${why}`, () => {
    assert.deepEqual(judge(checkChanged, item), fields);
  });
}

test('the last word on a field is the one that is said', () => {
  const errors = new FieldErrors();
  errors.add('type', 'first');
  errors.add('type', 'second');
  assert.ok(errors.has('type'));
  assert.ok(!errors.has('name'));
  assert.deepEqual(
    fieldsOf(() => errors.refuse('x')),
    { type: 'second' },
  );
});

test('nothing added is nothing refused', () => {
  assert.doesNotThrow(() => new FieldErrors().refuse('x'));
  assert.deepEqual(
    fieldsOf(() => refuseField('id', 'no')),
    { id: 'no' },
  );
});

test('a refusal does not repeat all that a caller has sent', () => {
  const fields = fieldsOf(() => {
    const errors = new FieldErrors();
    for (let at = 0; at < 10_000; at++) errors.add(`field ${at}`, 'x'.repeat(10_000));
    errors.add('field 0', 'a later word');
    errors.refuse('refused');
  });
  assert.equal(Object.keys(fields).length, 100);
  assert.equal(fields['field 0'], 'a later word');
  assert.equal(fields['field 1'], `${'x'.repeat(1_000)}…`);
});

test('a text that is longer than its field may be is refused by name, one as long is not', () => {
  const judgeLength = (length: number) =>
    fieldsOf(() => {
      const errors = new FieldErrors();
      const fits = checkLengths({ a: 'x'.repeat(length), b: 5 }, { a: 10, b: 1 }, errors, 'in.');
      assert.equal(fits, length <= 10);
      errors.refuse('refused');
    });
  assert.deepEqual(judgeLength(10), {});
  assert.deepEqual(judgeLength(11), { 'in.a': 'This must have at most 10 characters.' });
});
