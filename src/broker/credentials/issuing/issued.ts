import type { Effect } from '../../../store/write.ts';
import type { Resource } from '../../resource/resource.ts';
import type { FoundSecret } from '../../sessions/credentials/credential.ts';
import type { VaultConnection } from '../../vault/client/answer.ts';
import type { LibraryBody } from '../libraries/library.ts';
import type { TemplateFacts } from '../libraries/template.ts';

/** What a library made for a session. */
export interface Issued {
  found: FoundSecret;
  /** Bytes that the secret takes besides its texts, where somebody else made it. */
  weight: number;
  /** What the session's record says of it. */
  recorded: Readonly<Record<string, unknown>>;
  /** Belong into the write set that makes the session: its lease, and a certificate's row. */
  effects: readonly Effect[];
  /** Gives it back when that write set was refused. Never throws. */
  giveBack(): Promise<void>;
}

/** For whom, and for how long. */
export interface IssueRequest {
  library: Resource<LibraryBody>;
  session: { id: string; expires_at: number };
  facts: TemplateFacts;
  connect: Connect;
}

/** What leads to the server of a store. */
export interface Connected {
  token_id: string;
  connection: VaultConnection;
}

export type Connect = (store_id: string) => Promise<Connected>;

export function sourceOf(library: Resource<LibraryBody>) {
  const { id, name, description, container_id, subtype, body } = library;
  return {
    id,
    name,
    description,
    credential_store_id: container_id,
    type: subtype,
    credential_type: body.credential_type,
  };
}
