import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import { type DeviceTarget, type DeviceType, planDevice } from './device.ts';

const good: [type: DeviceType, options: Record<string, string>, target: DeviceTarget][] = [
  ['file', { file_path: '/a' }, { type: 'file', path: '/a', mode: 0o600 }],
  ['file', { path: '/a', mode: '0640' }, { type: 'file', path: '/a', mode: 0o640 }],
  ['file', { file_path: '/a', mode: '0644' }, { type: 'file', path: '/a', mode: 0o644 }],
  ['file', { file_path: '/a', mode: '0000' }, { type: 'file', path: '/a', mode: 0o600 }],
  ['file', { file_path: 'stdout', log_raw: 'false' }, { type: 'stdout' }],
  ['syslog', {}, { type: 'syslog', facility: 'auth', tag: 'gatehouse' }],
  ['syslog', { facility: 'AUTH', tag: 'v' }, { type: 'syslog', facility: 'auth', tag: 'v' }],
  [
    'socket',
    { address: '127.0.0.1:9', socket_type: 'tcp' },
    { type: 'socket', address: { transport: 'tcp', host: '127.0.0.1', port: 9 } },
  ],
  [
    'socket',
    { address: '/run/a', socket_type: 'unix' },
    { type: 'socket', address: { transport: 'unix', path: '/run/a' } },
  ],
];
for (const [type, options, target] of good) {
  test(`${type} with ${JSON.stringify(options)} is accepted`, () => {
    assert.deepEqual(planDevice(type, options), target);
  });
}

const bad: [type: DeviceType, options: Record<string, string>, says: RegExp][] = [
  ['file', {}, /file_path is required/],
  ['file', { file_path: 'relative' }, /must be an absolute path/],
  ['file', { file_path: '/a', 'https://u:p@h': 'x' }, /^unknown option; known are/],
  ['file', { file_path: '/a', 'u:p%40h': 'x' }, /^unknown option; known are/],
  ['file', { file_path: '/a', prefix: '#!/bin/sh' }, /unknown option "prefix"/],
  ['file', { file_path: '/a', log_raw: 'true' }, /log_raw/],
  ['file', { file_path: '/a', format: 'jsonx' }, /format/],
  ['file', { file_path: '/a', mode: '0700' }, /mode/],
  ['file', { file_path: '/a', mode: '0660' }, /mode/],
  ['file', { file_path: '/a', mode: '4600' }, /mode/],
  ['file', { file_path: '/a', mode: '0646' }, /mode/],
  ['file', { file_path: '/a', facility: 'AUTH' }, /unknown option "facility"/],
  ['syslog', { facility: 'audits' }, /facility/],
  ['socket', {}, /address is required/],
  ['socket', { address: '127.0.0.1:9', socket_type: 'udp' }, /socket_type/],
  ['socket', { address: 'nowhere', socket_type: 'unix' }, /address/],
  ['socket', { address: 'ann:hunter2@127.0.0.1:9' }, /without a user or a password/],
  ['socket', { address: 'hunter2@127.0.0.1:9' }, /without a user or a password/],
  ['socket', { address: '127.0.0.1:9?token=hunter2' }, /without a user or a password/],
  ['socket', { address: 'tcp://ann:hunter2@127.0.0.1' }, /without a user or a password/],
  ['socket', { address: 'ann:hunter2@a', socket_type: 'unix' }, /address/],
  ['file', { file_path: 'ann:hunter2@127.0.0.1' }, /must be an absolute path/],
];
for (const [type, options, says] of bad) {
  test(`${type} with ${JSON.stringify(options)} is refused`, () => {
    assert.throws(
      () => planDevice(type, options),
      (error) =>
        error instanceof Failure && says.test(error.message) && !/hunter2/.test(error.message),
    );
  });
}
