import { z } from 'zod';
import { asSet, comparedBy } from '../../core/comparison.ts';
import { parseUrl } from '../../core/domain-names.ts';
import { parseDuration } from '../../core/durations.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { flag, shortList, text } from '../../core/fields.ts';
import { isMailAddress } from '../../core/mail-address.ts';
import { mergePatch, patchOf } from '../../core/patches.ts';
import { encodePem, parsePem } from '../../core/pem.ts';
import { parseCertificate } from '../../x509/certificate.ts';
import { mayBeSlowToRead } from '../../x509/slow-certificates.ts';
import { pemText } from '../fields/field-kinds.ts';
import { referenceList } from '../fields/key-field-kinds.ts';

/** The ways in which somebody is told. */
export const CHANNELS = ['webhook', 'mail'] as const;
export type Channel = (typeof CHANNELS)[number];

/** Their order says nothing. */
const durationSet = comparedBy(shortList, {
  form: asSet((written) => String(Math.trunc(parseDuration(written) ?? Number.NaN) || written)),
});

const warningFields = {
  enabled: flag(false).describe('Whether anybody is warned.'),
  before: durationSet(['30d', '7d', '1d']).describe(
    'How long before the end, e.g. "30d,7d,1d": one warning for each; an hour at least, ten of them at most.',
  ),
  webhook_url: text('').describe('Where warnings are posted, with https://; empty for nowhere.'),
  webhook_ca: pemText('').describe(
    'PEM of CAs that its certificate is verified by; empty: the usual ones.',
  ),
  webhook_secret: text('').describe(
    'At least 16 characters: messages are signed with it by HMAC-SHA-256. Never told; empty removes it.',
  ),
  mail_to: shortList([]).describe('Mail addresses that warnings are sent to, 20 at most.'),
  roles: shortList([]).describe('Only certificates by these roles; empty: by any, and issuers.'),
  issuers: referenceList([]).describe('Only certificates by these issuers, and these; empty: all.'),
};
export const warningPatchSchema = patchOf(warningFields);
export type WarningPatch = z.output<typeof warningPatchSchema>;

/** Who is warned, when, and of what; without the secret. */
export const warningSettingsSchema = z.object({
  enabled: z.boolean(),
  before: z.array(z.int()).describe('Seconds, the longest first.'),
  webhook_url: z.string(),
  webhook_ca: z.string(),
  mail_to: z.array(z.string()),
  roles: z.array(z.string()),
  issuers: z.array(z.string()).describe('Ids.'),
});
export type WarningSettings = z.output<typeof warningSettingsSchema>;

/** The answer to a read. */
export const warningAnswerSchema = warningSettingsSchema.extend({
  webhook_secret_set: z.boolean().describe('Whether messages are signed.'),
});

const DAY = 86_400;
export const NO_WARNINGS: WarningSettings = {
  enabled: false,
  before: [30 * DAY, 7 * DAY, DAY],
  webhook_url: '',
  webhook_ca: '',
  mail_to: [],
  roles: [],
  issuers: [],
};

const LEAST_AHEAD = 3_600;
const MOST_AHEAD = 3_650 * DAY;
const MOST_TIMES = 10;
const MOST_RECEIVERS = 20;
const MOST_FILTERS = 100;
const LONGEST_URL = 2_048;
const LONGEST_CA = 64 << 10;
const SECRET = { least: 16, most: 1_024 };

/** What of the server a mount may make use of. */
interface Allowed {
  mail: boolean;
  loopback: boolean;
}

/** The settings in use tell somebody by a channel. */
export function usesChannel(settings: WarningSettings, channel: Channel): boolean {
  if (!settings.enabled) return false;
  return channel === 'webhook' ? settings.webhook_url !== '' : settings.mail_to.length > 0;
}

/**
 * Applies what was sent to the settings that there are.
 *
 * @param patch with the ids of issuers
 * @throws Failure `invalid` naming the field
 */
export function planWarnings(
  existing: WarningSettings,
  patch: Omit<WarningPatch, 'webhook_secret'>,
  allowed: Allowed,
): WarningSettings {
  const { before, ...rest } = patch;
  const settings = mergePatch(existing, rest);
  if (before) settings.before = readTimes(before);
  // What was stored while it was allowed hinders nobody from changing other things, or from switching it off.
  const asksForUrl = patch.webhook_url !== undefined || patch.enabled === true;
  if (asksForUrl) checkUrl(settings.webhook_url, allowed);
  if (patch.webhook_ca !== undefined) settings.webhook_ca = readCertificates(patch.webhook_ca);
  settings.mail_to = readReceivers(settings.mail_to);
  for (const field of ['roles', 'issuers'] as const) {
    settings[field] = [...new Set(settings[field])];
    if (settings[field].length > MOST_FILTERS) throw wrong(field, `at most ${MOST_FILTERS}`);
  }
  const { enabled, webhook_url, mail_to } = settings;
  const asksForMail = patch.mail_to !== undefined || patch.enabled === true;
  if (mail_to.length > 0 && asksForMail && !allowed.mail) {
    throw wrong('mail_to', 'the configuration of the server needs smtp before mail is sent');
  }
  if (enabled && webhook_url === '' && mail_to.length === 0) {
    throw wrong('enabled', 'webhook_url or mail_to has to say whom to tell');
  }
  return settings;
}

/** @returns undefined: it stays; null: there is none any more */
export function planSecret(sent: string | undefined): string | null | undefined {
  if (sent === undefined) return undefined;
  if (sent === '') return null;
  if (sent.length >= SECRET.least && sent.length <= SECRET.most) return sent;
  throw wrong('webhook_secret', `${SECRET.least} to ${SECRET.most} characters`);
}

function wrong(field: keyof WarningPatch, wanted: string): Failure {
  return invalid(`${field} cannot be used: ${wanted}`, { fields: { [field]: wanted } });
}

function readTimes(written: readonly string[]): number[] {
  const seconds = written.map((one) => Math.trunc(parseDuration(one) ?? 0));
  if (seconds.some((one) => one < LEAST_AHEAD || one > MOST_AHEAD)) {
    throw wrong('before', 'durations from 1h to 3650d, such as "30d"');
  }
  const times = [...new Set(seconds)].sort((a, b) => b - a);
  if (times.length >= 1 && times.length <= MOST_TIMES) return times;
  throw wrong('before', `one to ${MOST_TIMES} durations`);
}

function checkUrl(written: string, { loopback }: Allowed): void {
  if (written === '') return;
  const url = written.length <= LONGEST_URL ? parseUrl(written) : undefined;
  const isFit =
    url !== undefined &&
    /^https?:\/\/[^/]/i.test(written) &&
    /^[!-~]+$/.test(written) &&
    url.username === '' &&
    url.password === '' &&
    url.hash === '';
  if (isFit && (url.protocol === 'https:' || (loopback && isLoopback(url)))) return;
  // What may let somebody in is not repeated.
  const plain = loopback ? ' (or http:// and a loopback address)' : '';
  throw wrong(
    'webhook_url',
    `a URL that begins with https://${plain}, without user, password or fragment`,
  );
}

const isLoopback = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' && /^(?:127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);

/** In one form, whatever stood around them. */
function readCertificates(written: string): string {
  if (written.trim() === '') return '';
  const wanted = 'certificates in PEM';
  if (written.length > LONGEST_CA) throw wrong('webhook_ca', `at most ${LONGEST_CA} characters`);
  try {
    const blocks = parsePem(written);
    const pem = blocks.map(({ der }) => `${encodePem('CERTIFICATE', der)}\n`).join('');
    const areFit = blocks.length > 0 && blocks.every(({ label }) => label === 'CERTIFICATE');
    if (!areFit || mayBeSlowToRead(pem)) throw wrong('webhook_ca', wanted);
    for (const { der } of blocks) parseCertificate(der);
    return pem;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw wrong('webhook_ca', wanted);
  }
}

function readReceivers(written: readonly string[]): string[] {
  const receivers = [...new Set(written)];
  if (receivers.length > MOST_RECEIVERS) throw wrong('mail_to', `at most ${MOST_RECEIVERS}`);
  if (receivers.every(isMailAddress)) return receivers;
  throw wrong('mail_to', 'mail addresses such as "ca@example.com", without names beside them');
}
