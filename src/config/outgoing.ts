import { z } from 'zod';
import { invalid } from '../core/failure.ts';
import { isMailAddress } from '../core/mail-address.ts';
import { absentAsNull, address, blocks, choice, flag, readBy, section, text } from './kinds.ts';
import type { ReachRules } from './reach-rules.ts';

/** The server that mail is handed to. */
export interface SmtpServer {
  host: string;
  port: number;
  from: string;
  /** Empty: without logging in. */
  username: string;
  /** Read whenever mail is sent; empty for none. */
  password_file: string;
  tls: 'starttls' | 'tls' | 'none';
  /** PEM file; empty: the CAs that the runtime knows. */
  tls_ca_file: string;
}

const mailAddress = readBy(text, (written) => {
  if (isMailAddress(written)) return written;
  throw invalid(' must be a mail address such as "ca@example.com"');
}).meta({ takes: 'mail address' });

const smtpFields = z
  .strictObject({
    address: address.meta({
      otherwise: 'none; needed for mail',
      description:
        'the server that mail is handed to, for [warnings before certificates end](expiration-warnings.md)',
    }),
    from: mailAddress.meta({
      otherwise: 'none; needed for mail',
      description: 'the address that mail comes from',
    }),
    username: text.optional().describe('whom to log in as'),
    password_file: text
      .optional()
      .describe("file with that user's password; read whenever mail is sent"),
    tls: choice(['starttls', 'tls', 'none'])
      .default('starttls')
      .describe('`starttls`: nothing is sent before TLS has begun; `none` goes without a log-in'),
    tls_ca_file: text.optional().meta({
      otherwise: 'the CAs that the runtime knows',
      description: "PEM file of CAs that the server's certificate is verified by",
    }),
  })
  .optional();

export const smtp = readBy(absentAsNull(smtpFields), (given): SmtpServer | undefined => {
  if (given === undefined) return undefined;
  const { address: at, from, username = '', password_file = '', tls, tls_ca_file = '' } = given;
  if ((username === '') !== (password_file === '')) {
    throw invalid(': username and password_file go together');
  }
  if (tls === 'none' && username !== '') {
    throw invalid('.tls: a password is not sent without TLS');
  }
  return { ...at.at, from, username, password_file, tls, tls_ca_file };
});

/** Where receivers of warnings may be. */
export const webhooks = section({
  allow_loopback: flag.default(false).meta({
    otherwise: '`false` (`true` for a development server)',
    description:
      'a receiver of warnings may be on this machine, by loopback, then without TLS, too, or by an address of one of its interfaces, or be this server',
  }),
  allowed_networks: absentAsNull(blocks.default([])).meta({
    otherwise: 'all',
    description: 'where receivers may be',
  }),
  denied_networks: absentAsNull(blocks.default([])).describe('where they must not be'),
});

/** Of a development server: no mail, and receivers anywhere. */
export const DEV_OUTGOING: { smtp: SmtpServer | undefined; webhooks: ReachRules } = {
  smtp: undefined,
  webhooks: { allow_loopback: true, allowed_networks: [], denied_networks: [] },
};
