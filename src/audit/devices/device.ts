import { z } from 'zod';
import { parseSyslogAddress, SYSLOG_FACILITIES, type SyslogAddress } from '../../config/syslog.ts';
import { invalid } from '../../core/failure.ts';
import { mayHaveUser } from '../../core/place.ts';

/** A sink that was enabled over the API, on every node. */
export const deviceSchema = z.object({
  path: z.string().describe('With its trailing slash, e.g. "file/".'),
  type: z.string().describe('"file", "syslog", "socket", or what a newer version has enabled.'),
  description: z.string(),
  options: z.record(z.string(), z.string()).describe('As they were sent.'),
  local: z.boolean(),
});
export type Device = z.output<typeof deviceSchema>;

/** A device as it is kept. */
export interface KeptDevice extends Device {
  /** Of this enabling: another one at the same path has another. None: it is from before there were any. */
  id: string;
}

const DEVICE_TYPES = ['file', 'syslog', 'socket'] as const;
export type DeviceType = (typeof DEVICE_TYPES)[number];

/** What a device's options come to. */
export type DeviceTarget =
  | { type: 'file'; path: string; mode: number }
  | { type: 'stdout' }
  | { type: 'syslog'; facility: string; tag: string }
  | { type: 'socket'; address: Exclude<SyslogAddress, { transport: 'udp' }> };

const COMMON = ['log_raw', 'hmac_accessor', 'format', 'elide_list_responses'];
const OWN: Readonly<Record<DeviceType, readonly string[]>> = {
  file: ['file_path', 'path', 'mode'],
  syslog: ['facility', 'tag'],
  socket: ['address', 'socket_type', 'write_timeout'],
};

/** What is said of a device by its options, of whichever kind it is. */
export const DEVICE_OPTIONS: readonly string[] = [...COMMON, ...Object.values(OWN).flat()];

/**
 * The progress of a device's sink is kept under this name. It has the id: a device that is enabled anew at its path,
 * with another address perhaps, is another sink with a progress of its own.
 */
export function deviceSinkName({ path, id }: Pick<KeptDevice, 'path' | 'id'>): string {
  return id === '' ? `device:${path}` : `device:${path} ${id}`;
}

/** @throws Failure `invalid` for a type that this version does not know */
export function requireDeviceType(type: string): DeviceType {
  const known = DEVICE_TYPES.find((one) => one === type);
  if (known) return known;
  throw invalid(`unknown backend type:${quoteUnlessPlace(type) || ' not repeated'}`);
}

/** What was sent in quotes; nothing of what may have somebody's password, which was meant for another field. */
function quoteUnlessPlace(text: string): string {
  return mayHaveUser(text) ? '' : ` "${text}"`;
}

/**
 * Works out where a device writes. Options that would put anything but records into a file
 * (`prefix`), or a record's secrets (`log_raw`), are refused: with them whoever may enable a
 * device could plant what they like on the server's disk.
 *
 * @throws Failure `invalid` naming the option
 */
export function planDevice(type: DeviceType, options: Device['options']): DeviceTarget {
  const known = [...OWN[type], ...COMMON];
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) {
      throw invalid(`unknown option${quoteUnlessPlace(name)}; known are ${known.join(', ')}`);
    }
  }
  if (!isOff(options.log_raw)) {
    throw invalid('option "log_raw" must be false: secrets are never recorded');
  }
  if ((options.format || 'json') !== 'json') throw invalid('option "format" must be "json"');
  switch (type) {
    case 'file':
      return planFile(options);
    case 'syslog':
      return {
        type: 'syslog',
        facility: facilityOf(options.facility || 'auth'),
        tag: tagOf(options),
      };
    case 'socket':
      return { type: 'socket', address: socketOf(options) };
  }
}

function isOff(value: string | undefined): boolean {
  return ['', '0', 'f', 'false'].includes((value ?? '').toLowerCase());
}

function planFile(options: Device['options']): DeviceTarget {
  const path = options.file_path || options.path;
  if (!path) throw invalid('file_path is required');
  if (path === 'stdout') return { type: 'stdout' };
  if (!path.startsWith('/')) throw invalid('file_path must be an absolute path or "stdout"');
  const mode = options.mode || '0600';
  if (!/^0?[0-7]{3,4}$/.test(mode) || (Number.parseInt(mode, 8) & 0o7133) !== 0) {
    throw invalid(
      'option "mode" must be octal permission bits for reading and writing, such as "0640"; only the owner may write',
    );
  }
  return { type: 'file', path, mode: Number.parseInt(mode, 8) || 0o600 };
}

function tagOf({ tag = '' }: Device['options']): string {
  // It is told to whoever reads the devices.
  if (tag.includes('@')) throw invalid('option "tag" is a name, without "@"');
  return tag || 'gatehouse';
}

function facilityOf(name: string): string {
  const lower = name.toLowerCase();
  if (SYSLOG_FACILITIES.includes(lower)) return lower;
  throw invalid(`option "facility" must be one of ${SYSLOG_FACILITIES.join(', ')}`);
}

function socketOf(options: Device['options']): Exclude<SyslogAddress, { transport: 'udp' }> {
  const { address, socket_type = 'tcp' } = options;
  if (!address) throw invalid('address is required');
  if (socket_type !== 'tcp' && socket_type !== 'unix') {
    throw invalid('option "socket_type" must be "tcp" or "unix"');
  }
  if (socket_type === 'tcp' && /[@?#]/.test(address)) {
    // Nor is it repeated: what is there to be let in by would be read by others.
    throw invalid('address must be like "HOST:601", without a user or a password');
  }
  const parsed = parseSyslogAddress('address', `${socket_type}://${address}`);
  if (parsed.transport === 'udp') throw invalid('address is not one of a stream');
  return parsed;
}
