import type { Comparisons } from './comparisons.ts';
import type { FormedSegment } from './name-form.ts';
import type { ParameterReader } from './parameter-forms.ts';

export type Operation = 'read' | 'list' | 'create' | 'update' | 'patch' | 'delete';

export interface AccessRequest {
  /** Canonical, after `/v1/`, e.g. `pki/issue/web`; a list's path with or without its last slash. */
  path: string;
  operation: Operation;
  /** Segments that are names of more than one spelling. */
  formed?: readonly FormedSegment[];
  /** The path is root-protected. */
  sudoRequired: boolean;
  /** Fields of body and query as sent, unknown ones too, those of the path not. */
  parameters?: Readonly<Record<string, unknown>>;
  /** How the endpoint reads those fields. */
  reader?: ParameterReader;
  /** Seconds that the answer is to be wrapped for; undefined when it is not. */
  wrapTtl?: number | undefined;
  /** What all judging of the request may still come to, wherever and however often it is judged. */
  budget?: Comparisons;
}

/** What is known of a request before its fields. */
export type Asked = Pick<AccessRequest, 'path' | 'operation' | 'formed' | 'sudoRequired'>;

/** The fields of a request, and the wrapping that it asks for. */
export type SentWith = Pick<AccessRequest, 'parameters' | 'reader' | 'wrapTtl' | 'budget'>;
