import { z } from 'zod';
import { areWithin, requireCidrs } from '../../../config/cidrs.ts';
import { comparedBy } from '../../../core/comparison.ts';
import { hasControl } from '../../../core/control-characters.ts';
import { invalid } from '../../../core/failure.ts';
import { text } from '../../../core/fields.ts';
import { parseJsonText } from '../../../core/json-text.ts';
import { formatTimestamp } from '../../../core/timestamps.ts';
import type { Approle } from './role.ts';

/** What is fixed when a secret ID is made. */
export interface SecretIdBody {
  metadata: Record<string, string>;
  /** Addresses to log in from; empty: those of the role. */
  cidr_list: string[];
  /** Addresses its tokens may be used from; empty: those of the role. */
  token_bound_cidrs: string[];
  /** 0: unlimited. */
  num_uses: number;
  /** Seconds; 0: for ever. */
  ttl: number;
  created_at: number;
}

/** A secret ID as stored: its text is known to its owner alone. Times in Unix seconds. */
export interface SecretId extends SecretIdBody {
  /** Keyed hash of its text. */
  id: string;
  accessor: string;
  mount_id: string;
  role: string;
  expires_at: number | undefined;
  /** Log-ins left when `num_uses` is not 0. */
  uses_left: number;
}

export interface SecretIdRequest {
  /** JSON object as text. */
  metadata: string;
  cidr_list: string[];
  token_bound_cidrs: string[];
  num_uses?: number | undefined;
  ttl?: number | undefined;
}

/**
 * Decides what secret ID a role gives.
 *
 * @throws Failure `invalid` when it is asked for more than the role allows
 */
export function planSecretId(role: Approle, request: SecretIdRequest, now: number): SecretIdBody {
  const num_uses = request.num_uses ?? role.secret_id_num_uses;
  const ttl = request.ttl ?? role.secret_id_ttl;
  if (num_uses < 0) throw invalid('num_uses cannot be negative');
  if (isBeyond(num_uses, role.secret_id_num_uses)) {
    throw invalid("num_uses cannot be higher than the role's secret_id_num_uses");
  }
  if (isBeyond(ttl, role.secret_id_ttl)) {
    throw invalid("ttl cannot be longer than the role's secret_id_ttl");
  }
  requireCidrs('cidr_list', request.cidr_list);
  requireCidrs('token_bound_cidrs', request.token_bound_cidrs);
  if (!areWithin(request.token_bound_cidrs, role.token_bound_cidrs)) {
    throw invalid("token_bound_cidrs must lie within the role's token_bound_cidrs");
  }
  return {
    metadata: parseMetadata(request.metadata),
    cidr_list: request.cidr_list,
    token_bound_cidrs: request.token_bound_cidrs,
    num_uses,
    ttl,
    created_at: now,
  };
}

/** 0 is without limit, and so beyond any that is set. */
function isBeyond(wanted: number, limit: number): boolean {
  return limit > 0 && (wanted === 0 || wanted > limit);
}

function parseMetadata(sent: string): Record<string, string> {
  const found = findMetadata(sent);
  if (found) return found;
  throw invalid(
    'metadata must be a JSON object with string values, as text, without control characters',
  );
}

/** More cannot be in as long a text. */
const METADATA = { maxDepth: 1, maxValues: 2_000, maxMembers: 2_000 };

function findMetadata(sent: string): Record<string, string> | undefined {
  if (sent === '') return {};
  const parsed = parseJsonText(sent, METADATA);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined;
  const entries: [string, unknown][] = Object.entries(parsed);
  const texts = entries.flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  );
  const isSound = texts.length === entries.length && !hasControl(parsed);
  return isSound ? Object.fromEntries(texts) : undefined;
}

/** A JSON object as text: compared by its members, however it is written. */
export const metadataText = comparedBy(text, {
  form: (read) => (typeof read === 'string' ? (findMetadata(read) ?? read) : read),
  also(sent) {
    const found = findMetadata(sent);
    return found ? [JSON.stringify(found)] : [];
  },
});

/** What whoever had one made is told, once. */
export const madeSecretId = z.object({
  secret_id: z.string(),
  secret_id_accessor: z.string(),
  secret_id_num_uses: z.int().describe('Log-ins that it is good for. 0: unlimited.'),
  secret_id_ttl: z.int().describe('Seconds; 0: for ever.'),
});
export type MadeSecretId = z.output<typeof madeSecretId>;

/** What a look-up tells of a secret ID. */
export const secretIdReply = z.object({
  cidr_list: z.array(z.string()).describe('Addresses to log in from. Empty: those of the role.'),
  creation_time: z.string().describe('RFC 3339.'),
  expiration_time: z.string().describe('RFC 3339; of the year 1: never.'),
  last_updated_time: z.string().describe('RFC 3339.'),
  metadata: z.record(z.string(), z.string()),
  secret_id_accessor: z.string(),
  secret_id_num_uses: z.int().describe('Log-ins that are left. 0: unlimited.'),
  secret_id_ttl: z.int().describe('Seconds it was made for; 0: for ever.'),
  token_bound_cidrs: z.array(z.string()).describe('Addresses to use its tokens from.'),
});
export type SecretIdReply = z.output<typeof secretIdReply>;

export function describeSecretId(secret: SecretId): SecretIdReply {
  return {
    cidr_list: secret.cidr_list,
    creation_time: formatTimestamp(secret.created_at),
    expiration_time:
      secret.expires_at === undefined ? '0001-01-01T00:00:00Z' : formatTimestamp(secret.expires_at),
    last_updated_time: formatTimestamp(secret.created_at),
    metadata: secret.metadata,
    secret_id_accessor: secret.accessor,
    secret_id_num_uses: secret.num_uses === 0 ? 0 : secret.uses_left,
    secret_id_ttl: secret.ttl,
    token_bound_cidrs: secret.token_bound_cidrs,
  };
}
