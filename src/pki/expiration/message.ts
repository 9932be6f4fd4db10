import { createHmac } from 'node:crypto';
import { formatTimestamp } from '../../core/timestamps.ts';

/** A certificate that ends, as receivers are told of it. */
export interface Ending {
  /** An issuer of the mount, or a certificate that it has stored. */
  kind: 'issuer' | 'certificate';
  serial_number: string;
  issuer_id: string;
  /** Empty for none. */
  role: string;
  common_name: string;
  /** Some of its names, lower case. */
  names: readonly string[];
  /** Further ones. */
  more_names: number;
  not_before: string;
  not_after: string;
  /** When the message was made; not above 0 for what has ended. */
  seconds_left: number;
}

/** One warning, as it is posted. */
export interface Message {
  /** The same for each time that it is sent. */
  id: string;
  type: 'certificates.ending';
  created_at: string;
  /** Where clients reach the server. */
  server: string;
  mount: string;
  /** How long before the end it is told, in seconds. */
  before: number;
  certificates: readonly Ending[];
}

const LONGEST_NAME = 255;
const MOST_NAMES = 20;

/** Facts of a certificate. Unix seconds. */
interface Facts {
  kind: Ending['kind'];
  serial: string;
  issuer_id: string;
  role: string;
  common_name: string;
  not_before: number;
  not_after: number;
}

/** @param names some, and how many there are */
export function describeEnding(
  { kind, serial, issuer_id, role, common_name, not_before, not_after }: Facts,
  { names, count }: { names: readonly string[]; count: number },
  now: number,
): Ending {
  const told = names.slice(0, MOST_NAMES).map((name) => cut(name));
  return {
    kind,
    serial_number: serial,
    issuer_id,
    role: cut(role),
    common_name: cut(common_name),
    names: told,
    more_names: count - told.length,
    not_before: formatTimestamp(not_before),
    not_after: formatTimestamp(not_after),
    seconds_left: not_after - now,
  };
}

function cut(text: string): string {
  const short = text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME - 1)}…` : text;
  // Half of a character is none.
  return short.toWellFormed();
}

/**
 * What a receiver knows a message of ours by.
 *
 * @param now Unix seconds, signed with it: an old message sent by somebody else is told by it
 */
export function signatureOf(secret: string, body: string, now: number): string {
  const signature = createHmac('sha256', secret).update(`${now}.${body}`).digest('hex');
  return `t=${now},v1=${signature}`;
}

/** Certificates that a mail lists; the rest is counted. */
const MOST_LISTED = 50;

/** A mail in plain text. Names of others are in it, without anything that ends a line. */
export function writeMail(message: Message): { subject: string; text: string } {
  const { certificates, mount, server, id } = message;
  const [only] = certificates;
  const what =
    certificates.length === 1 && only
      ? nameOf(only)
      : `${certificates.length} certificates of ${oneLine(mount)}`;
  const when = endOf(message);
  const listed = certificates.slice(0, MOST_LISTED).flatMap(writeLines);
  const rest = certificates.length - MOST_LISTED;
  return {
    subject: `[Gatehouse] ${what} ${certificates.length === 1 ? when.one : when.several}`,
    text: [
      `These certificates of ${oneLine(mount)} ${when.several}, and no successor is known.`,
      '',
      ...listed,
      ...(rest > 0 ? [`and ${rest} more.`, ''] : []),
      `Server: ${oneLine(server)}`,
      `Message: ${id}`,
      '',
    ].join('\n'),
  };
}

const LONGEST_IN_SUBJECT = 80;

function nameOf({ common_name, names, serial_number }: Ending): string {
  const name = oneLine(common_name || names[0] || serial_number);
  return name.length > LONGEST_IN_SUBJECT
    ? `${name.slice(0, LONGEST_IN_SUBJECT).toWellFormed()}…`
    : name;
}

function writeLines(ending: Ending): string[] {
  const { kind, serial_number, role, not_after, names, more_names, seconds_left } = ending;
  const others = names.filter((name) => name !== ending.common_name.toLowerCase()).map(oneLine);
  return [
    `- ${kind === 'issuer' ? 'CA ' : ''}${nameOf(ending)}`,
    `  ${seconds_left > 0 ? 'ends' : 'ended'} ${not_after}, serial number ${serial_number}${role === '' ? '' : `, role ${oneLine(role)}`}`,
    ...(others.length > 0
      ? [`  ${others.join(', ')}${more_names > 0 ? ` and ${more_names} more` : ''}`]
      : []),
    '',
  ];
}

/** Without ends of lines, controls, and marks that turn the direction of text. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');

/** What is told late has ended, some of it or all. */
function endOf({ certificates, before }: Message): { one: string; several: string } {
  const ended = certificates.filter(({ seconds_left }) => seconds_left <= 0).length;
  const within = `within ${timeOf(before)}`;
  if (ended === 0) return { one: `ends ${within}`, several: `end ${within}` };
  if (ended === certificates.length) return { one: 'has ended', several: 'have ended' };
  return { one: `ends ${within}`, several: `end ${within} or have ended` };
}

function timeOf(seconds: number): string {
  const days = seconds / 86_400;
  if (Number.isInteger(days)) return counted(days, 'day');
  return counted(Math.ceil(seconds / 3_600), 'hour');
}

const counted = (count: number, unit: string): string =>
  `${count} ${unit}${count === 1 ? '' : 's'}`;
