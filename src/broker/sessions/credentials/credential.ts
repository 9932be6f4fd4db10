/** One credential of a session, as the answer to its authorization shows it. */
export interface SessionCredential {
  credential_source: {
    id: string;
    name?: string;
    description?: string;
    credential_store_id: string;
    /** The source's subtype, `static` for every stored credential. */
    type: string;
    /** Absent for a library that says nothing of what it holds. */
    credential_type?: string;
  };
  secret: {
    /** Base64 of the secret's JSON text. */
    raw: string;
    /** Only of a secret that is an object. */
    decoded?: Readonly<Record<string, unknown>>;
  };
  /** Absent where the type is. */
  credential?: Readonly<Record<string, unknown>>;
}

/** A secret for a session before it is encoded. */
export interface FoundSecret {
  source: {
    id: string;
    name: string | null;
    description: string | null;
    credential_store_id: string;
    type: string;
    /** Empty for none. */
    credential_type: string;
  };
  secret: unknown;
  /** What the type makes of the secret; undefined where the type is empty. */
  credential: Readonly<Record<string, unknown>> | undefined;
}

/** Encodes a secret for the answer, or for the worker that uses it. */
export function describeSecret({ source, secret, credential }: FoundSecret): SessionCredential {
  const { id, name, description, credential_store_id, type, credential_type } = source;
  return {
    credential_source: {
      id,
      ...(name ? { name } : {}),
      ...(description ? { description } : {}),
      credential_store_id,
      type,
      ...(credential_type === '' ? {} : { credential_type }),
    },
    secret: {
      raw: Buffer.from(JSON.stringify(secret)).toString('base64'),
      ...(isObject(secret) ? { decoded: secret } : {}),
    },
    ...(credential === undefined ? {} : { credential }),
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
