import { z } from 'zod';
import { outputOnly } from '../../core/output-only.ts';
import { wholeNumber } from './fields.ts';

/** Fields that requests for every kind of resource take. */
export const commonFields = {
  id: z.string().optional().describe('Made by the server; sent in the path alone.'),
  scope_id: z.string().optional().describe('Scope that the resource lies in.'),
  name: z.string().optional().describe('For identification; unique where the resource lies.'),
  description: z.string().optional().describe('For people.'),
  created_time: outputOnly(),
  updated_time: outputOnly(),
  version: wholeNumber().optional().describe('The latest known version, in changes.'),
  type: z.string().optional().describe('Subtype of the resource.'),
  attributes: z.record(z.string(), z.unknown()).optional().describe('Fields of the subtype.'),
};

/** Fields that only answers have; in a request they are passed over, as clients send items back. */
export const answerFields = {
  scope: outputOnly(),
  authorized_actions: outputOnly(),
  authorized_collection_actions: outputOnly(),
};

const time = (about: string) => z.string().describe(`${about} RFC 3339.`);

/** The summary of its scope that every item carries. */
export const scopeSummary = z.object({
  id: z.string(),
  type: z.enum(['global', 'org', 'project']),
  name: z.string().optional(),
  description: z.string().optional(),
  parent_scope_id: z.string().optional(),
});

/** What items of every kind show; grants may leave the caller fewer of them. */
export const commonShown = {
  id: z.string(),
  scope: scopeSummary.describe('The scope that the resource lies in.'),
  name: z.string(),
  description: z.string(),
  created_time: time('When it was made.'),
  updated_time: time('When it was changed last.'),
  version: z.int().describe('Named in changes, which it tells from each other.'),
  type: z.string().describe('Subtype of the resource.'),
  authorized_actions: z.array(z.string()).describe('What the caller may do with it.'),
  authorized_collection_actions: z
    .record(z.string(), z.array(z.string()))
    .describe('What the caller may do with what it holds, by type.'),
};

/** Fields that say where an item lies. */
export type ContainerField =
  | 'scope_id'
  | 'auth_method_id'
  | 'host_catalog_id'
  | 'credential_store_id';
