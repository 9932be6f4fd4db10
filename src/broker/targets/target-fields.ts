import { z } from 'zod';
import { outputOnly } from '../../core/output-only.ts';
import { wholeNumber } from '../resource/fields.ts';
import { includedAliases } from './included-aliases.ts';

const ports = {
  default_port: wholeNumber().optional().describe('Port of the endpoint.'),
  default_client_port: wholeNumber().optional().describe('Port that clients listen on.'),
};
const recording = {
  storage_bucket_id: z.string().optional().describe('Where sessions are recorded.'),
  enable_session_recording: z.boolean().optional().describe('Whether sessions are recorded.'),
};
const input = {
  record_session_input: z
    .boolean()
    .optional()
    .describe('Whether what users type is recorded besides what they see: passwords as well.'),
};

const publicKeys = (about: string) =>
  z.array(z.string()).optional().describe(`${about} Lines as ssh-keygen writes public keys.`);
const hostKeys = {
  host_keys: publicKeys(
    'Host keys of the endpoint: with injected credentials no other is trusted.',
  ),
  host_ca_keys: publicKeys(
    'Authorities whose host certificates are trusted that name the address of the endpoint.',
  ),
};

export const targetAttributes = {
  tcp: z.object(ports),
  ssh: z.object({ ...ports, ...recording, ...input, ...hostKeys }),
  rdp: z.object({ ...ports, ...recording }),
};

export const targetFields = {
  session_max_seconds: wholeNumber().optional().describe('Lifetime of a session; 28800.'),
  session_connection_limit: wholeNumber()
    .optional()
    .describe('Connections of a session; -1, unlimited.'),
  worker_filter: z.string().optional().describe('Deprecated: use egress_worker_filter.'),
  egress_worker_filter: z.string().optional().describe('Which workers may reach the endpoint.'),
  ingress_worker_filter: z.string().optional().describe('Which workers clients come to.'),
  address: z.string().optional().describe('IP address or DNS name of the endpoint.'),
  with_aliases: includedAliases,
  host_source_ids: z.unknown().optional().describe('Set by `:set-host-sources`.'),
  host_sources: outputOnly(),
  brokered_credential_source_ids: z
    .unknown()
    .optional()
    .describe('Set by `:set-credential-sources`.'),
  brokered_credential_sources: outputOnly(),
  injected_application_credential_source_ids: z
    .unknown()
    .optional()
    .describe('Set by `:set-credential-sources`.'),
  injected_application_credential_sources: outputOnly(),
  aliases: outputOnly(),
};

const shownIds = z.array(z.string()).describe('Not in lists.');
const credentialSources = z
  .array(z.object({ id: z.string(), credential_store_id: z.string() }))
  .describe('Not in lists.');

export const targetShown = {
  worker_filter: z.string(),
  egress_worker_filter: z.string(),
  ingress_worker_filter: z.string(),
  session_max_seconds: z.int(),
  session_connection_limit: z.int().describe('-1: unlimited.'),
  attributes: z.object({
    default_port: z.int().optional(),
    default_client_port: z.int().optional(),
    storage_bucket_id: z.string().optional(),
    enable_session_recording: z.boolean().optional(),
    record_session_input: z.boolean().optional(),
    host_keys: z.array(z.string()).optional().describe('Of targets that speak SSH.'),
    host_ca_keys: z.array(z.string()).optional().describe('Of targets that speak SSH.'),
  }),
  address: z.string().describe('Empty for one that is reached through host sets.'),
  host_source_ids: shownIds,
  host_sources: z
    .array(z.object({ id: z.string(), host_catalog_id: z.string() }))
    .describe('Not in lists.'),
  brokered_credential_source_ids: shownIds,
  brokered_credential_sources: credentialSources,
  injected_application_credential_source_ids: shownIds,
  injected_application_credential_sources: credentialSources,
  aliases: z.array(z.object({ id: z.string(), value: z.string() })).describe('Not in lists.'),
};
