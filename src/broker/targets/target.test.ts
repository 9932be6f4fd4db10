import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import { FieldErrors } from '../resource/field-errors.ts';
import {
  checkNewTarget,
  checkTargetChange,
  planTarget,
  TARGET_DEFAULTS,
  TARGET_TYPES,
  type TargetBody,
  type TargetItem,
  updatablePaths,
} from './target.ts';

function fieldsOf(check: (errors: FieldErrors) => void): Record<string, string> {
  const errors = new FieldErrors();
  check(errors);
  try {
    errors.refuse('Error in provided request.');
  } catch (error) {
    assert.ok(error instanceof Failure);
    return error.detail.fields ?? {};
  }
  return {};
}

const BASE: TargetItem = { scope_id: 'p_1', name: 'one', attributes: { default_port: 22 } };

const REQUIRED = 'This field is required.';
const PROJECT = 'This field is required to have a properly formatted project scope id.';
const LIMIT = 'This must be -1 (unlimited) or greater than zero.';
const SECONDS = 'This must be greater than zero.';
const TOO_BIG = 'Value is greater than maximum port number.';
const ALIASES = 'Included aliases can only specify a value, a scope id, and attributes.';
const DEPRECATED = 'This field is deprecated. Use egress_worker_filter instead.';
const EGRESS = 'Unable to successfully parse egress filter expression.';
const INGRESS = 'Unable to successfully parse ingress filter expression.';
const PORT = 'attributes.default_port';
const CLIENT_PORT = 'attributes.default_client_port';
const ports = (default_port: number | undefined, default_client_port?: number): TargetItem => ({
  attributes: { default_port, default_client_port },
});

const made: [item: TargetItem, fields: Record<string, string>, why: string, type?: string][] = [
  [{}, {}, 'a name, a project and a port'],
  [{ scope_id: 'p_' }, {}, 'the looks of a project are enough here'],
  [{ scope_id: 'o_1' }, { scope_id: PROJECT }, 'an org'],
  [{ scope_id: 'global' }, { scope_id: PROJECT }, 'the global scope'],
  [{ scope_id: 'p_a b' }, { scope_id: PROJECT }, 'a blank in the id'],
  [{ scope_id: 'xp_1' }, { scope_id: PROJECT }, 'what only ends like a project'],
  [{ scope_id: undefined }, { scope_id: PROJECT }, 'nowhere'],
  [{ name: 'x' }, {}, 'a short name'],
  [{ name: '' }, { name: REQUIRED }, 'an empty name'],
  [{ name: undefined }, { name: REQUIRED }, 'no name'],
  [{ with_aliases: [] }, {}, 'no aliases'],
  [{ with_aliases: [{ value: 'a', scope_id: 'global', attributes: {} }] }, {}, 'a whole alias'],
  [{ with_aliases: [{ value: 'a', id: 'alt_1' }] }, { with_aliases: ALIASES }, 'its id'],
  [{ with_aliases: [{ value: 'a' }, { type: 'target' }] }, { with_aliases: ALIASES }, 'its type'],
  [{ session_connection_limit: -1 }, {}, 'unlimited'],
  [{ session_connection_limit: 1 }, {}, 'one connection'],
  [{ session_connection_limit: 0 }, { session_connection_limit: LIMIT }, 'none'],
  [{ session_connection_limit: -2 }, { session_connection_limit: LIMIT }, 'beyond unlimited'],
  [{ session_connection_limit: 2 ** 31 - 1 }, {}, 'as many as 32 bits hold'],
  [{ session_connection_limit: 2 ** 31 }, { session_connection_limit: LIMIT }, 'more than that'],
  [{ session_max_seconds: 1 }, {}, 'a second'],
  [{ session_max_seconds: 0 }, { session_max_seconds: SECONDS }, 'no second'],
  [{ session_max_seconds: -1 }, { session_max_seconds: SECONDS }, 'less than none'],
  [{ worker_filter: undefined }, {}, 'no old filter'],
  [{ worker_filter: 'a == "b"' }, { worker_filter: DEPRECATED }, 'an old filter'],
  [{ worker_filter: '' }, { worker_filter: DEPRECATED }, 'an empty old filter'],
  [{ egress_worker_filter: 'type == "bar"' }, {}, 'a filter'],
  [{ egress_worker_filter: 'bad expression' }, { egress_worker_filter: EGRESS }, 'no filter'],
  [{ ingress_worker_filter: 'type == "bar"' }, {}, 'ingress'],
  [{ ingress_worker_filter: 'bad expression' }, { ingress_worker_filter: INGRESS }, 'no ingress'],
  [{ address: '127.0.0.1' }, {}, 'an address'],
  [{ address: '10.0.0.1:80' }, { address: 'Address does not support a port.' }, 'with a port'],
  [
    { address: 'ab' },
    { address: 'Address length must be between 3 and 255 characters.' },
    'too short an address',
  ],
  [{ attributes: undefined }, { [PORT]: REQUIRED }, 'no attributes'],
  [{ attributes: {} }, { [PORT]: REQUIRED }, 'no port'],
  [{ attributes: {} }, {}, 'ssh has a port of its own', 'ssh'],
  [{ attributes: {} }, {}, 'so has rdp', 'rdp'],
  [{ attributes: {} }, {}, 'of an unknown type nothing more is said', ''],
  [ports(1), {}, 'the least port'],
  [ports(0), { [PORT]: 'This field cannot be set to zero.' }, 'port 0'],
  [ports(0), { [PORT]: 'This field cannot be set to zero.' }, 'port 0 of ssh', 'ssh'],
  [ports(65_535), {}, 'the greatest port'],
  [ports(65_536), { [PORT]: TOO_BIG }, 'a port beyond'],
  [ports(-1), { [PORT]: 'This must be a port number.' }, 'a port below'],
  [ports(22, 1), {}, 'a client port'],
  [ports(22, 0), { [CLIENT_PORT]: 'This field cannot be set to zero.' }, 'client port 0'],
  [ports(22, 65_536), { [CLIENT_PORT]: TOO_BIG }, 'a client port beyond'],
  [
    { name: '', session_max_seconds: 0, attributes: { default_port: 0 } },
    {
      name: REQUIRED,
      session_max_seconds: SECONDS,
      [PORT]: 'This field cannot be set to zero.',
    },
    'all that is wrong is said at once',
  ],
];

for (const [item, fields, why, type = 'tcp'] of made) {
  const verdict = Object.keys(fields).length === 0 ? 'taken' : 'refused';
  test(`a new target is ${verdict}: ${why}`, () => {
    const said = fieldsOf((errors) => checkNewTarget({ ...BASE, ...item }, type, errors));
    assert.deepEqual(said, fields);
  });
}

const CHANGE_ZERO = 'This cannot be set to zero.';
const EXCLUSIVE = (field: string): string =>
  `Cannot set worker_filter and ${field}; they are mutually exclusive fields.`;

const changed: [item: TargetItem, mask: string[], fields: Record<string, string>, why: string][] = [
  [{}, [], {}, 'nothing'],
  [{ name: 'x' }, ['name'], {}, 'a name'],
  [{}, ['name'], { name: 'This field cannot be set to empty.' }, 'a name to null'],
  [{ name: '' }, ['name'], { name: 'This field cannot be set to empty.' }, 'to nothing'],
  [{}, ['description'], {}, 'a description to null'],
  [
    { with_aliases: [] },
    [],
    { with_aliases: 'This field can only be set at target creation time.' },
    'aliases',
  ],
  [{ worker_filter: 'a == "b"' }, ['worker_filter'], {}, 'an old filter'],
  [
    { worker_filter: 'a ==' },
    ['worker_filter'],
    { worker_filter: 'Unable to successfully parse filter expression.' },
    'an old filter that cannot be read',
  ],
  [{ egress_worker_filter: 'a == "b"' }, ['egress_worker_filter'], {}, 'a filter'],
  [
    { worker_filter: 'a == "b"', egress_worker_filter: 'a == "b"' },
    ['worker_filter', 'egress_worker_filter'],
    { egress_worker_filter: EXCLUSIVE('egress_worker_filter') },
    'both filters',
  ],
  [
    { worker_filter: 'a == "b"', ingress_worker_filter: 'a == "b"' },
    [],
    { ingress_worker_filter: EXCLUSIVE('ingress_worker_filter') },
    'the old one and ingress',
  ],
  [
    { worker_filter: undefined, egress_worker_filter: 'a == "b"' },
    ['worker_filter', 'egress_worker_filter'],
    {},
    'the old one goes as the new one comes',
  ],
  [{ ingress_worker_filter: 'a == "b"' }, ['ingress_worker_filter'], {}, 'ingress'],
  [
    { ingress_worker_filter: 'a ==' },
    ['ingress_worker_filter'],
    { ingress_worker_filter: INGRESS },
    'no ingress',
  ],
  [{}, ['session_max_seconds'], {}, 'seconds to null'],
  [{ session_max_seconds: 0 }, [], { session_max_seconds: SECONDS }, 'no second'],
  [{}, ['session_connection_limit'], {}, 'connections to null'],
  [{ session_connection_limit: -1 }, [], {}, 'unlimited'],
  [{ session_connection_limit: -2 }, [], { session_connection_limit: LIMIT }, 'beyond unlimited'],
  [{ attributes: {} }, [PORT], { [PORT]: REQUIRED }, 'a port to null'],
  [{ attributes: {} }, [CLIENT_PORT], {}, 'a client port to null'],
  [ports(1), [PORT], {}, 'the least port'],
  [ports(0), [PORT], { [PORT]: CHANGE_ZERO }, 'port 0'],
  [ports(65_536), [PORT], { [PORT]: TOO_BIG }, 'a port beyond'],
  [ports(undefined, 0), [CLIENT_PORT], { [CLIENT_PORT]: CHANGE_ZERO }, 'client port 0'],
  [ports(undefined, 65_535), [CLIENT_PORT], {}, 'the greatest client port'],
  [{}, ['address'], {}, 'an address to null'],
  [{ address: '::1' }, ['address'], {}, 'an address'],
  [{ address: 'a:1' }, ['address'], { address: 'Address does not support a port.' }, 'a port'],
];

for (const [item, mask, fields, why] of changed) {
  const verdict = Object.keys(fields).length === 0 ? 'taken' : 'refused';
  test(`a change of a target is ${verdict}: ${why}`, () => {
    assert.deepEqual(
      fieldsOf((errors) => checkTargetChange(item, { subtype: 'tcp', mask }, errors)),
      fields,
    );
  });
}

const BEFORE: TargetBody = {
  ...TARGET_DEFAULTS,
  address: '10.0.0.1',
  session_max_seconds: 60,
  session_connection_limit: 3,
  egress_worker_filter: 'a == "b"',
  default_port: 22,
  default_client_port: 2222,
};

const planned: [
  item: TargetItem,
  mask: string[],
  next: Partial<TargetBody>,
  why: string,
  type?: string,
][] = [
  [{ session_max_seconds: 5 }, [], {}, 'what the mask does not name stays'],
  [{ session_max_seconds: 5 }, ['session_max_seconds'], { session_max_seconds: 5 }, 'changed'],
  [{}, ['session_max_seconds'], { session_max_seconds: 28_800 }, 'null is the default'],
  [{}, ['session_connection_limit'], { session_connection_limit: -1 }, 'null is unlimited'],
  [{}, ['egress_worker_filter'], { egress_worker_filter: '' }, 'null clears a filter'],
  [{}, ['address'], { address: '' }, 'null clears the address'],
  [{ address: ' ::0001 ' }, ['address'], { address: '::1' }, 'an address is kept canonical'],
  [{}, [CLIENT_PORT], { default_client_port: 0 }, 'null clears the client port'],
  [{}, [PORT], { default_port: 22 }, 'null is the port of the protocol', 'ssh'],
  [{}, [PORT], { default_port: 3389 }, 'which rdp has, too', 'rdp'],
  [ports(23), [PORT], { default_port: 23 }, 'a port alone'],
];

for (const [item, mask, next, why, type = 'tcp'] of planned) {
  test(`a target after a change: ${why}`, () => {
    const read = checkTargetChange(item, { subtype: type, mask }, new FieldErrors());
    assert.deepEqual(planTarget(BEFORE, type, read, mask), { ...BEFORE, ...next });
  });
}

test('a new target has defaults for all that is not said', () => {
  // As it is stored: what is undefined is not there.
  const plan = (type: string, item: TargetItem): TargetBody =>
    JSON.parse(JSON.stringify(planTarget(TARGET_DEFAULTS, type, item, 'all')));
  assert.deepEqual(plan('tcp', BASE), { ...TARGET_DEFAULTS, default_port: 22 });
  assert.equal(plan('rdp', { ...BASE, attributes: {} }).default_port, 3389);
});

test('recordings can be changed of the types that have them, the kind and place of none', () => {
  for (const type of TARGET_TYPES) {
    const paths = updatablePaths(type);
    assert.equal(paths.includes('attributes.enable_session_recording'), type !== 'tcp');
    for (const fixed of ['type', 'scope_id', 'version', 'host_source_ids']) {
      assert.ok(!paths.includes(fixed), `${type}: ${fixed}`);
    }
  }
});
