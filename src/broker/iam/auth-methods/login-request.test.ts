import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../core/failure.ts';
import { type LogInRequest, readLogIn } from './login-request.ts';

const ID = 'ampw_1234567890';
const NAMED = { login_name: 'admin', password: 'password' };
const REQUIRED = 'This is a required field.';
const FORMAT = 'Attribute fields do not match the expected format.';
const TYPES = 'The only accepted types are "token" and "cookie".';
const COMMAND = 'Invalid command for this auth method type.';

const taken: [item: Record<string, unknown>, type: LogInRequest['type'], why: string][] = [
  [{ attributes: NAMED }, '', 'a name and a password'],
  [{ command: 'login', attributes: NAMED }, '', 'the command by its name'],
  [{ command: '', attributes: NAMED }, '', 'an empty command is none'],
  [{ type: 'token', attributes: NAMED }, 'token', 'for a token'],
  [{ type: 'cookie', attributes: NAMED }, 'cookie', 'for cookies'],
  [{ type: 'Cookie', attributes: NAMED }, 'cookie', 'in any case of letters'],
  [{ token_type: 'cookie', attributes: NAMED }, 'cookie', 'by the former name'],
  [{ type: 'token', token_type: 'cookie', attributes: NAMED }, 'token', 'the newer name counts'],
  [{ type: '', attributes: NAMED }, '', 'an empty type is none'],
];

for (const [item, type, why] of taken) {
  test(`a log-in is read: ${why}`, () => {
    assert.deepEqual(readLogIn(ID, item), { ...NAMED, type });
  });
}

const refused: [id: string, item: Record<string, unknown>, fields: object, why: string][] = [
  [
    'hcst_1',
    { command: 'x' },
    { auth_method_id: 'Unknown auth method type.' },
    'of what is no auth method nothing more is said',
  ],
  ['', { attributes: NAMED }, { auth_method_id: 'Unknown auth method type.' }, 'no id'],
  [ID, {}, { attributes: REQUIRED }, 'no attributes'],
  [ID, { attributes: null }, { attributes: REQUIRED }, 'null'],
  [ID, { attributes: [] }, { attributes: REQUIRED }, 'a list'],
  [
    ID,
    { attributes: {} },
    { 'attributes.login_name': REQUIRED, 'attributes.password': REQUIRED },
    'neither name nor password',
  ],
  [
    ID,
    { attributes: { ...NAMED, password: '' } },
    { 'attributes.password': REQUIRED },
    'an empty password',
  ],
  [
    ID,
    { attributes: { ...NAMED, login_name: null } },
    { 'attributes.login_name': REQUIRED },
    'a name that is null',
  ],
  [ID, { attributes: { ...NAMED, password: 1 } }, { attributes: FORMAT }, 'a number'],
  [ID, { attributes: { ...NAMED, otp: '1' } }, { attributes: FORMAT }, 'an unknown attribute'],
  [
    ID,
    { command: 'start', attributes: NAMED },
    { command: COMMAND },
    'the command of another kind',
  ],
  [ID, { type: 'tokens', attributes: NAMED }, { type: TYPES }, 'another type'],
  [
    ID,
    { type: 'x', command: 'x' },
    { type: TYPES, command: COMMAND, attributes: REQUIRED },
    'all that is wrong at once',
  ],
];

for (const [id, item, fields, why] of refused) {
  test(`a log-in is refused: ${why}`, () => {
    assert.throws(
      () => readLogIn(id, item),
      (error) => {
        assert.ok(error instanceof Failure);
        assert.equal(error.kind, 'invalid');
        assert.equal(error.message, 'Invalid fields provided in request.');
        assert.deepEqual(error.detail.fields, fields);
        // Whatever was given as a password is not said again.
        assert.doesNotMatch(JSON.stringify(error.detail), /"password":/);
        return true;
      },
    );
  });
}
