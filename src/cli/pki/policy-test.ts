import { readFileSync } from 'node:fs';
import { invalid } from '../../core/failure.ts';
import { CLIENT_FLAGS, createApiClient } from '../api-client.ts';
import type { Arguments, FlagTable } from '../arguments.ts';
import type { Command } from '../command.ts';
import { formatOf, pairs } from '../output.ts';
import { mountOf } from './mount.ts';

/** Fields of a request, by the flag that fills them in. */
const VALUES: Readonly<Record<string, [field: string, value: string, help: string]>> = {
  'common-name': ['common_name', 'NAME', 'common name'],
  'alt-names': ['alt_names', 'NAMES', 'DNS names and e-mail addresses, with commas between them'],
  'ip-sans': ['ip_sans', 'ADDRESSES', 'IP addresses, with commas between them'],
  'uri-sans': ['uri_sans', 'URIS', 'URIs, with commas between them'],
  'other-sans': ['other_sans', 'NAMES', 'other names, "<oid>;UTF8:<value>"'],
  'user-ids': ['user_ids', 'IDS', 'user ids, with commas between them'],
  'serial-number': ['serial_number', 'TEXT', 'serialNumber of the subject'],
  ttl: ['ttl', 'DURATION', 'how long it is to last'],
  'not-before': ['not_before', 'TIME', 'when it is to begin'],
  'not-after': ['not_after', 'TIME', 'when it is to end'],
  'key-type': ['key_type', 'TYPE', 'type of key, where the role leaves it open'],
  'key-bits': ['key_bits', 'NUMBER', 'size of the key, where the role leaves it open'],
};

const FLAGS: FlagTable = {
  mount: { value: 'PATH', help: 'the mount of the authority (pki)' },
  role: { value: 'NAME', help: 'the role to be tried' },
  'cel-role': { value: 'NAME', help: 'the CEL role to be tried instead' },
  ...Object.fromEntries(
    Object.entries(VALUES).map(([name, [, value, help]]) => [name, { value, help }]),
  ),
  csr: { value: 'FILE', help: 'a request in PEM, which would be signed' },
  data: { value: 'JSON', help: 'further fields, an object' },
  ...CLIENT_FLAGS,
};

export const policyTestCommand: Command = {
  usage: 'pki policy test (-role NAME | -cel-role NAME) [flags]',
  summary: 'say what a role would let be issued, and by which rule',
  about: `Asks a running server what would be issued for names or a request, and which rule of the role decides.
Nothing is signed and nothing is stored. It needs the permission "update" at roles/NAME/test or cel/roles/NAME/test,
and is refused to those whom policies deny to issue. The exit code is 0 when it would be issued, and 2 when it would
be refused.`,
  flags: FLAGS,
  async run({ flags }) {
    const format = formatOf(flags);
    const path = pathOf(flags);
    const api = createApiClient(flags, process.env);
    const { data, warnings } = await api.call('PUT', path, requestOf(flags));
    for (const one of Array.isArray(warnings) ? warnings : []) console.error(String(one));
    const answer = objectOf(data);
    console.log(format === 'json' ? JSON.stringify(answer, null, 2) : textOf(answer));
    return answer.allowed === true ? 0 : 2;
  },
};

function pathOf(flags: Arguments['flags']): string {
  const [role, cel] = [flags.get('role'), flags.get('cel-role')];
  const name = role ?? cel;
  if (name === undefined || (role !== undefined && cel !== undefined)) {
    throw invalid('either -role or -cel-role is required');
  }
  const mount = mountOf(flags);
  return `${mount}/${cel === undefined ? 'roles' : 'cel/roles'}/${encodeURIComponent(name)}/test`;
}

function requestOf(flags: Arguments['flags']): Record<string, unknown> {
  const request = furtherOf(flags.get('data'));
  for (const [name, [field]] of Object.entries(VALUES)) {
    const value = flags.get(name);
    if (value !== undefined) request[field] = value;
  }
  const file = flags.get('csr');
  if (file !== undefined) request.csr = readRequest(file);
  return request;
}

function furtherOf(text = '{}'): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return Object.fromEntries(Object.entries(value));
    }
  } catch {
    // It is told below.
  }
  throw invalid('what -data has must be a JSON object');
}

function readRequest(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw invalid(`the file of -csr, "${file}", cannot be read`, { cause });
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value))
    : {};
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** What would be issued, and why; what is empty is left out. */
export function textOf(answer: Record<string, unknown>): string {
  const rows: [string, unknown][] = [
    ['Allowed', answer.allowed === true ? 'yes' : 'no'],
    ['Decided by', answer.decided_by],
  ];
  if (answer.because !== undefined) rows.push(['Because', answer.because]);
  for (const one of listOf(answer.names).map(objectOf)) {
    rows.push([
      `Name ${String(one.kind)}`,
      `${String(one.name)}: ${one.rule ?? 'no rule lets it in'}`,
    ]);
  }
  for (const [field, value] of Object.entries(objectOf(answer.certificate))) {
    const text = Array.isArray(value) ? value.join(', ') : String(value);
    if (text !== '') rows.push([field, text]);
  }
  return pairs(rows);
}
