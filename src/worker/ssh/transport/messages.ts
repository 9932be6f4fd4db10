import { encodeString, encodeUint32, WireReader } from '../../../ssh/wire.ts';

/** Numbers of messages (RFC 4250 §4.1.2). */
export const MESSAGE = {
  DISCONNECT: 1,
  IGNORE: 2,
  UNIMPLEMENTED: 3,
  DEBUG: 4,
  SERVICE_REQUEST: 5,
  SERVICE_ACCEPT: 6,
  EXT_INFO: 7,
  KEXINIT: 20,
  NEWKEYS: 21,
  KEX_INIT: 30,
  KEX_REPLY: 31,
  USERAUTH_REQUEST: 50,
  USERAUTH_FAILURE: 51,
  USERAUTH_SUCCESS: 52,
  USERAUTH_BANNER: 53,
  /** Of passwords: they are to be changed; of `keyboard-interactive`: something is asked. */
  USERAUTH_60: 60,
  USERAUTH_INFO_RESPONSE: 61,
  GLOBAL_REQUEST: 80,
  CHANNEL_OPEN: 90,
  CHANNEL_OPEN_CONFIRMATION: 91,
  CHANNEL_OPEN_FAILURE: 92,
  CHANNEL_DATA: 94,
  CHANNEL_EXTENDED_DATA: 95,
  CHANNEL_CLOSE: 97,
  CHANNEL_REQUEST: 98,
  CHANNEL_SUCCESS: 99,
  CHANNEL_FAILURE: 100,
} as const;

/** Whether a message is of a key exchange (RFC 4250 §4.1.1). */
export const isOfExchange = (number: number): boolean => number >= 20 && number < 50;

/** Whether a message is of the connection protocol (RFC 4254). */
export const isOfConnection = (number: number): boolean => number >= 80 && number <= 127;

/** Whether a message says nothing that anything would be done for. */
export const isIdle = (number: number): boolean =>
  number === MESSAGE.IGNORE || number === MESSAGE.DEBUG || number === MESSAGE.UNIMPLEMENTED;

const MOST_REASON = 1024;

/** @param code of RFC 4253 §11.1 */
export function encodeFarewell(reason: string, code: number): Buffer {
  const text = encodeString(reason.slice(0, MOST_REASON));
  return Buffer.concat([Buffer.of(MESSAGE.DISCONNECT), encodeUint32(code), text, encodeString('')]);
}

/** What a peer says as it ends the connection. */
export function readFarewell(message: Buffer): string {
  const read = new WireReader(message.subarray(1));
  read.uint32();
  return printable(read.utf8());
}

/** What somebody else says, on one line. */
export const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 256);

const MOST_EXTENSIONS = 64;

/** What a peer says that it can do, by its name (RFC 8308 §2.3). */
export function readExtensions(message: Buffer): Map<string, string> {
  const read = new WireReader(message.subarray(1));
  const extensions = new Map<string, string>();
  for (let left = Math.min(read.uint32(), MOST_EXTENSIONS); left > 0; left--) {
    const name = read.name();
    const value = read.name();
    if (read.failed) break;
    extensions.set(name, value);
  }
  return extensions;
}
