import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import { FieldErrors } from '../resource/field-errors.ts';
import type { LinkChange } from '../resource/links/plan.ts';
import { checkCredentialSources, checkHostSources } from './sources.ts';

function fieldsOf(check: (errors: FieldErrors) => void): Record<string, string> {
  const errors = new FieldErrors();
  check(errors);
  try {
    errors.refuse('Errors in provided fields.');
  } catch (error) {
    assert.ok(error instanceof Failure);
    return error.detail.fields ?? {};
  }
  return {};
}

const CHANGES: readonly LinkChange[] = ['add', 'set', 'remove'];
const NO_HOST = (id: string): string => `Incorrectly formatted host source identifier "${id}".`;

const hosts: [ids: string[], refused: string | undefined, why: string][] = [
  [['hsst_1'], undefined, 'a static host set'],
  [['hsplg_1', 'hs_1'], undefined, 'sets of plugins, of both spellings'],
  [['hsst_1', 'hsst_1'], undefined, 'one named twice'],
  [['incorrect'], NO_HOST('incorrect'), 'no id'],
  [['hst_1'], NO_HOST('hst_1'), 'a host'],
  [['hcst_1'], NO_HOST('hcst_1'), 'a catalog'],
  [['hsst_a b'], NO_HOST('hsst_a b'), 'a blank'],
  [[''], NO_HOST(''), 'an empty id'],
  [['hsst_1', 'bad1', 'bad2'], NO_HOST('bad1'), 'the first bad one is named'],
];

for (const [ids, refused, why] of hosts) {
  test(`host sources are ${refused ? 'refused' : 'taken'} by every verb: ${why}`, () => {
    for (const change of CHANGES) {
      const said = fieldsOf((errors) =>
        checkHostSources({ host_source_ids: ids }, errors, { change }),
      );
      assert.deepEqual(said, refused ? { host_source_ids: refused } : {}, change);
    }
  });
}

test('only setting takes no host sources at all', () => {
  for (const item of [{}, { host_source_ids: [] }, { host_source_ids: undefined }]) {
    for (const change of CHANGES) {
      const said = fieldsOf((errors) => checkHostSources(item, errors, { change }));
      assert.deepEqual(said, change === 'set' ? {} : { host_source_ids: 'Must be non-empty.' });
    }
  }
});

const NO_SOURCE = (id: string): string =>
  `Incorrectly formatted credential source identifier "${id}".`;
const BROKERED = 'brokered_credential_source_ids';
const INJECTED = 'injected_application_credential_source_ids';

// One row for each kind: who can be shown it, and for whom it can be used.
const kinds: [id: string, brokered: boolean, injected: boolean, taken_away: boolean][] = [
  ['clvlt_1', true, true, true],
  ['clvllt_1', true, true, true],
  ['clvsclt_1', false, true, true],
  ['clca_1', true, false, true],
  ['credup_1', true, true, true],
  ['cred_1', true, true, true],
  ['credupd_1', true, true, true],
  ['credspk_1', true, true, true],
  ['credp_1', true, false, false],
  ['credjson_1', true, false, true],
  ['csst_1', false, false, false],
  ['hsst_1', false, false, false],
  ['incorrect', false, false, false],
  ['', false, false, false],
];

for (const [id, brokered, injected, taken_away] of kinds) {
  test(`a source "${id}" serves what its kind can, and no other purpose`, () => {
    for (const change of CHANGES) {
      const rows: [field: string, taken: boolean][] = [
        [BROKERED, brokered],
        [INJECTED, change === 'remove' ? taken_away : injected],
      ];
      for (const [field, taken] of rows) {
        const said = fieldsOf((errors) =>
          checkCredentialSources({ [field]: [id] }, errors, { change }),
        );
        assert.deepEqual(said, taken ? {} : { [field]: NO_SOURCE(id) }, `${change} ${field}`);
      }
    }
  });
}

const BOTH = 'Brokered or Injected Application Credential Source IDs must be provided.';

test('a verb about credentials needs one of the lists, unless it sets them', () => {
  const rows: [item: Record<string, string[]>, fields: Record<string, string>][] = [
    [{}, { [BROKERED]: BOTH, [INJECTED]: BOTH }],
    [
      { [BROKERED]: [], [INJECTED]: [] },
      { [BROKERED]: BOTH, [INJECTED]: BOTH },
    ],
    [{ [BROKERED]: ['credup_1'] }, {}],
    [{ [INJECTED]: ['credup_1'] }, {}],
    [{ [BROKERED]: ['credup_1'], [INJECTED]: ['credup_1'] }, {}],
  ];
  for (const [item, fields] of rows) {
    for (const change of CHANGES) {
      const said = fieldsOf((errors) => checkCredentialSources(item, errors, { change }));
      assert.deepEqual(said, change === 'set' ? {} : fields);
    }
  }
});

test('what is wrong in either list is said, the first of each', () => {
  const item = { [BROKERED]: ['credup_1', 'x', 'y'], [INJECTED]: ['credp_1'] };
  const said = fieldsOf((errors) => checkCredentialSources(item, errors, { change: 'add' }));
  assert.deepEqual(said, { [BROKERED]: NO_SOURCE('x'), [INJECTED]: NO_SOURCE('credp_1') });
});
