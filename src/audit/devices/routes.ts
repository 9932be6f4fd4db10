import { z } from 'zod';
import { flat, nothing } from '../../app/output.ts';
import { type AnyRoute, vaultRoute } from '../../app/route.ts';
import { flag, longText, stringMap, text } from '../../core/fields.ts';
import { DEVICE_OPTIONS, deviceSchema } from './device.ts';
import { describeDevices, disableDevice, enableDevice, hashForRecords } from './operations.ts';

const path = text().describe('Name of the device, with or without a trailing slash.');
const path_forms = { path: /^[^/].*$/ };

export const auditDeviceRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'auditing-list-enabled-devices',
    on_any_thread: true,
    method: 'GET',
    path: '/v1/sys/audit',
    summary: 'List audit devices',
    access: { capability: 'read', sudo: true },
    input: z.object({}),
    output: flat(z.record(z.string().describe('Path of the device.'), deviceSchema)),
    failures: [],
    run: (app) => describeDevices(app),
  }),
  vaultRoute({
    id: 'auditing-enable-device',
    method: 'POST',
    path: '/v1/sys/audit/{path+}',
    summary: 'Enable an audit device',
    access: { capability: 'update', sudo: true },
    path_forms,
    audit: ['path', 'type', 'description', 'local'],
    audit_within: { options: DEVICE_OPTIONS },
    places: ['options', 'type'],
    input: z.object({
      path,
      type: text('').describe('"file", "syslog" or "socket".'),
      description: text('').describe('For people.'),
      options: stringMap({}).describe(
        'file: file_path (or "stdout"), mode; syslog: facility, tag; socket: address, socket_type.',
      ),
      local: flag(false).describe('Kept and answered; devices are on every node.'),
    }),
    output: nothing,
    failures: ['invalid', 'conflict'],
    run: enableDevice,
  }),
  vaultRoute({
    id: 'auditing-disable-device',
    method: 'DELETE',
    path: '/v1/sys/audit/{path+}',
    summary: 'Disable an audit device',
    access: { capability: 'delete', sudo: true },
    path_forms,
    audit: ['path'],
    input: z.object({ path }),
    output: nothing,
    failures: [],
    run: disableDevice,
  }),
  vaultRoute({
    id: 'auditing-calculate-hash',
    on_any_thread: true,
    method: 'POST',
    path: '/v1/sys/audit-hash/{path+}',
    summary: 'Answer the form in which a token stands in audit records',
    access: { capability: 'update' },
    path_forms,
    audit: ['path'],
    input: z.object({ path, input: longText('').describe('The token to look for.') }),
    output: z.object({ hash: z.string().describe('E.g. "hmac-sha256:" with 64 digits.') }),
    failures: ['invalid'],
    run: hashForRecords,
  }),
];
