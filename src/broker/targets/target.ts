import type { z } from 'zod';
import type { WantedAlias } from '../aliases/alias.ts';
import { judgeAddress } from '../resource/address.ts';
import { checkLengths, type FieldErrors } from '../resource/field-errors.ts';
import { parseExpression } from '../resource/filter/expression.ts';
import type { ItemOf, Kind } from '../resource/handler.ts';
import { checkHostKeys } from './host-keys.ts';
import { readAliases } from './included-aliases.ts';
import { targetAttributes, type targetFields, type targetShown } from './target-fields.ts';

/** What a target keeps; host and credential sources are links. */
export interface TargetBody {
  /** Empty for a target that is reached through host sets. */
  address: string;
  session_max_seconds: number;
  /** -1: unlimited. */
  session_connection_limit: number;
  worker_filter: string;
  egress_worker_filter: string;
  /** Absent in targets that were kept before there was one. */
  ingress_worker_filter?: string;
  default_port: number;
  /** 0 for none. */
  default_client_port: number;
  storage_bucket_id: string;
  enable_session_recording: boolean;
  /** Absent in rows of before there were recordings. */
  record_session_input?: boolean;
  /** Absent for none. */
  host_keys?: readonly string[] | undefined;
  host_ca_keys?: readonly string[] | undefined;
}

export const TARGET_TYPES = ['tcp', 'ssh', 'rdp'] as const;

/** What is taken for a field that a request does not name, or sets to null. @see B-58 */
export const TARGET_DEFAULTS: TargetBody = {
  address: '',
  session_max_seconds: 28_800,
  session_connection_limit: -1,
  worker_filter: '',
  egress_worker_filter: '',
  ingress_worker_filter: '',
  default_port: 0,
  default_client_port: 0,
  storage_bucket_id: '',
  enable_session_recording: false,
  record_session_input: false,
};

/** Ports that a type has unless told otherwise; 0: it must be told. */
const DEFAULT_PORTS: Readonly<Record<string, number>> = { tcp: 0, ssh: 22, rdp: 3389 };

export interface TargetKind extends Kind {
  fields: typeof targetFields;
  attributes: typeof targetAttributes;
  shown: typeof targetShown;
  body: TargetBody;
  wanted: NewTarget;
  change: TargetItem;
}

export type TargetItem = ItemOf<TargetKind>;

export interface NewTarget {
  /** With its address as it is kept. */
  item: TargetItem;
  aliases: readonly WantedAlias[];
}

const PORT_IN_ADDRESS = 'Address does not support a port.';

/** What is wrong with a new target. @see B-59, B-60 */
export function checkNewTarget(item: TargetItem, type: string, errors: FieldErrors): NewTarget {
  if (!/^p_[A-Za-z0-9]*$/.test(item.scope_id ?? '')) {
    errors.add('scope_id', 'This field is required to have a properly formatted project scope id.');
  }
  if (item.name === undefined || item.name === '') errors.add('name', 'This field is required.');
  if (item.worker_filter !== undefined) {
    errors.add('worker_filter', 'This field is deprecated. Use egress_worker_filter instead.');
  }
  const { attributes = {} } = item;
  if (type !== '' && attributes.default_port === undefined && !DEFAULT_PORTS[type]) {
    errors.add('attributes.default_port', 'This field is required.');
  }
  checkPorts(attributes, 'This field cannot be set to zero.', errors);
  checkRecording(attributes, type, errors);
  const read = checkCommon(item, errors);
  return { item: read, aliases: readAliases(item.with_aliases ?? [], errors) };
}

/** What is wrong with a change of a target. @see B-61, B-64 */
export function checkTargetChange(
  item: TargetItem,
  { subtype, mask }: { subtype: string; mask: readonly string[] },
  errors: FieldErrors,
): TargetItem {
  if (mask.includes('name') && !item.name) {
    errors.add('name', 'This field cannot be set to empty.');
  }
  if (item.with_aliases !== undefined) {
    errors.add('with_aliases', 'This field can only be set at target creation time.');
  }
  const { attributes = {}, worker_filter } = item;
  if (worker_filter !== undefined) {
    if (!parseExpression(worker_filter).valid) {
      errors.add('worker_filter', 'Unable to successfully parse filter expression.');
    }
    for (const field of ['egress_worker_filter', 'ingress_worker_filter'] as const) {
      if (item[field] === undefined) continue;
      errors.add(
        field,
        `Cannot set worker_filter and ${field}; they are mutually exclusive fields.`,
      );
    }
  }
  if (mask.includes('attributes.default_port') && attributes.default_port === undefined) {
    errors.add('attributes.default_port', 'This field is required.');
  }
  checkPorts(attributes, 'This cannot be set to zero.', errors);
  checkRecording(attributes, subtype, errors);
  return checkCommon(item, errors);
}

/** Only what is spoken through SSH can be recorded. */
function checkRecording(
  { enable_session_recording, storage_bucket_id }: NonNullable<TargetItem['attributes']>,
  type: string,
  errors: FieldErrors,
): void {
  if (type === 'ssh') return;
  const because = 'Only sessions of ssh targets can be recorded by this server.';
  if (enable_session_recording) errors.add('attributes.enable_session_recording', because);
  if (storage_bucket_id) errors.add('attributes.storage_bucket_id', because);
}

function checkPorts(
  attributes: NonNullable<TargetItem['attributes']>,
  zero: string,
  errors: FieldErrors,
): void {
  for (const name of ['default_port', 'default_client_port'] as const) {
    const { [name]: port = 1 } = attributes;
    const field = `attributes.${name}`;
    if (port === 0) errors.add(field, zero);
    else if (port > 65_535) errors.add(field, 'Value is greater than maximum port number.');
    else if (port < 0) errors.add(field, 'This must be a port number.');
  }
}

/** @returns the item with its address as it is kept */
function checkCommon(item: TargetItem, errors: FieldErrors): TargetItem {
  checkLengths(item.attributes ?? {}, { storage_bucket_id: 128 }, errors, 'attributes.');
  checkHostKeys(item.attributes ?? {}, errors);
  const { session_connection_limit: limit, session_max_seconds: seconds, address } = item;
  if (limit !== undefined && (limit === 0 || limit < -1 || limit > 2 ** 31 - 1)) {
    errors.add('session_connection_limit', 'This must be -1 (unlimited) or greater than zero.');
  }
  if (seconds !== undefined && seconds <= 0) {
    errors.add('session_max_seconds', 'This must be greater than zero.');
  }
  for (const side of ['egress', 'ingress'] as const) {
    const field = `${side}_worker_filter` as const;
    const filter = item[field];
    if (filter === undefined || errors.has(field) || parseExpression(filter).valid) continue;
    errors.add(field, `Unable to successfully parse ${side} filter expression.`);
  }
  if (address === undefined) return item;
  const verdict = judgeAddress(address, PORT_IN_ADDRESS);
  if (verdict.valid) return { ...item, address: verdict.address };
  errors.add('address', verdict.because);
  return item;
}

const TOP_LEVEL = [
  'session_max_seconds',
  'session_connection_limit',
  'worker_filter',
  'egress_worker_filter',
  'ingress_worker_filter',
] as const;
const ATTRIBUTES = [
  'default_port',
  'default_client_port',
  'storage_bucket_id',
  'enable_session_recording',
  'record_session_input',
  'host_keys',
  'host_ca_keys',
] as const;

/** Paths of `update_mask` that a target of some type can change. */
export function updatablePaths(type: string): string[] {
  const schemas: Readonly<Record<string, z.ZodObject>> = targetAttributes;
  const attributes = Object.keys(schemas[type]?.shape ?? {});
  return [...TOP_LEVEL, 'address', ...attributes.map((name) => `attributes.${name}`)];
}

/**
 * A target after a request: what it speaks of as it says, or as a new target has it where it
 * says null; the rest as before.
 *
 * @param item as a check has read it
 * @param mask what the request speaks of; a new target: everything
 */
export function planTarget(
  before: TargetBody,
  type: string,
  item: TargetItem,
  mask: readonly string[] | 'all',
): TargetBody {
  const next: TargetBody = { ...before };
  const speaksOf = (path: string): boolean => mask === 'all' || mask.includes(path);
  const defaults = { ...TARGET_DEFAULTS, default_port: DEFAULT_PORTS[type] ?? 0 };
  for (const name of TOP_LEVEL) {
    if (speaksOf(name)) Object.assign(next, { [name]: item[name] ?? defaults[name] });
  }
  for (const name of ATTRIBUTES) {
    if (!speaksOf(`attributes.${name}`)) continue;
    Object.assign(next, { [name]: item.attributes?.[name] ?? defaults[name] });
  }
  if (speaksOf('address')) next.address = item.address ?? '';
  return next;
}
