import { giveWay } from '../../../access/turns/operations.ts';
import type { App } from '../../../app.ts';
import { type CredentialBody, presentCredential } from '../../credentials/credential.ts';
import { openCredential } from '../../credentials/operations.ts';
import type { Resource } from '../../resource.ts';
import { findResource } from '../../resources/store.ts';
import { describeSecret, type FoundSecret, type SessionCredential } from '../credential.ts';
import { MOST_BYTES, refuseTooLong, SECRET_TIMES, type SecretHold } from '../room.ts';

/** Sources read at the same time. */
const AT_ONCE = 4;

export interface SourceIds {
  brokered: readonly string[];
  injected: readonly string[];
}

/** The sources of a target, with what is stored opened. */
export interface Stored {
  shown: OpenedSources;
  hidden: OpenedSources;
}

interface OpenedSources {
  libraries: readonly Resource[];
  credentials: readonly Resource[];
  /** The same as the credentials. */
  opened: readonly SessionCredential[];
}

export async function openSources(
  app: App,
  { brokered, injected }: SourceIds,
  dress: Dress,
  hold: SecretHold,
): Promise<Stored> {
  const shown = await listSources(app, brokered, hold);
  const hidden = await listSources(app, injected, hold);
  return {
    shown: { ...shown, opened: await openAll(app, shown.credentials, dress) },
    hidden: { ...hidden, opened: await openAll(app, hidden.credentials, dress) },
  };
}

export type Dress = (found: FoundSecret) => Promise<SessionCredential>;

/** What dresses the secrets of one session, in turns with those of others. */
export function dressFor(app: App): Dress {
  let bytes = 0;
  return async (found) => {
    await giveWay(app);
    const credential = describeSecret(found);
    bytes += Buffer.byteLength(credential.secret.raw, 'base64');
    if (bytes > MOST_BYTES) throw refuseTooLong();
    return credential;
  };
}

async function openAll(
  app: App,
  credentials: readonly Resource[],
  dress: Dress,
): Promise<SessionCredential[]> {
  const dressed: SessionCredential[] = [];
  for (const one of credentials) dressed.push(await dress(openStored(app, one)));
  return dressed;
}

/** Some at a time: those that there is no room for are not read. */
async function listSources(
  app: App,
  ids: readonly string[],
  hold: SecretHold,
): Promise<{ libraries: Resource[]; credentials: Resource[] }> {
  const sources: Resource[] = [];
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const some = ids.slice(at, at + AT_ONCE);
    for (const one of await Promise.all(some.map((id) => findResource(app.db, id)))) {
      if (!one) continue;
      hold.grow(SECRET_TIMES * (one.secret_sealed?.length ?? 0));
      sources.push(one);
    }
  }
  return {
    libraries: sources.filter(({ type }) => type === 'credential-library'),
    credentials: sources.filter(({ type }) => type === 'credential'),
  };
}

function openStored(app: App, credential: Resource): FoundSecret {
  const { id, name, description, container_id, subtype } = credential;
  const secret = presentCredential(
    subtype,
    credential.body as CredentialBody,
    openCredential(app, credential),
  );
  return {
    source: {
      id,
      name,
      description,
      credential_store_id: container_id,
      type: 'static',
      credential_type: subtype,
    },
    secret,
    credential: secret,
  };
}
