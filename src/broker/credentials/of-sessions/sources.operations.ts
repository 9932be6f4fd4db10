import { giveWay } from '../../../access/concurrency/operations.ts';
import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { isOf, type Kind, type ResourceHandler } from '../../resource/handler.ts';
import type { Resource } from '../../resource/resource.ts';
import { findResource } from '../../resource/store.ts';
import {
  describeSecret,
  type FoundSecret,
  type SessionCredential,
} from '../../sessions/credentials/credential.ts';
import {
  MOST_BYTES,
  refuseTooLong,
  SECRET_TIMES,
  type SecretHold,
} from '../../sessions/credentials/room.ts';
import { listConnectionBytes } from '../../vault/tokens/store.ts';
import { type CredentialBody, presentCredential } from '../static/credential.ts';
import { credentialDefinition, openCredential } from '../static/operations.ts';
import { listHeads, type SourceHead } from './sources.store.ts';

/** Of the sources of a session, so many are read, or issue, at the same time. */
export const AT_ONCE = 4;
/** What a source takes besides its texts. */
const EACH = 1 << 10;
/** A library is there as it is stored, as it is filled in, and as it is sent. */
const LIBRARY_TIMES = 4;
/** What leads to a server is there as it was opened, and as it is sent. */
const CONNECTION_TIMES = 2;

export interface SourceIds {
  brokered: readonly string[];
  injected: readonly string[];
}

/** Sources of a target, none of them read. */
export interface Sources {
  shown: SourceHeads;
  hidden: SourceHeads;
}

interface SourceHeads {
  libraries: readonly SourceHead[];
  credentials: readonly SourceHead[];
}

/** What is stored among the sources of a target, opened. */
export interface Stored {
  sources: Sources;
  shown: readonly SessionCredential[];
  hidden: readonly SessionCredential[];
}

/** Of a library no more than this is held until its turn to issue comes. */
export async function findSources(app: App, { brokered, injected }: SourceIds): Promise<Sources> {
  const heads = async (ids: readonly string[]): Promise<SourceHeads> => {
    const all = await listHeads(app.db, ids);
    return {
      libraries: all.filter(({ type }) => type === 'credential-library'),
      credentials: all.filter(({ type }) => type === 'credential'),
    };
  };
  return { shown: await heads(brokered), hidden: await heads(injected) };
}

/** Opens what is stored: what there is no room for is not read. */
export async function openStored(
  app: App,
  sources: Sources,
  encode: EncodeSecret,
  hold: SecretHold,
): Promise<Stored> {
  const shown = sources.shown.credentials;
  const hidden = sources.hidden.credentials;
  const all = [...shown, ...hidden];
  hold.grow(SECRET_TIMES * sum(all, ({ sealed }) => sealed));
  hold.growRows(sum(all, ({ texts, body }) => EACH + texts + body));
  return {
    sources,
    shown: await openAll(app, shown, encode),
    hidden: await openAll(app, hidden, encode),
  };
}

/** Bytes that libraries take while they issue: bodies of as many as do so at once, and whatever leads to their servers. */
export async function findBytesToIssue(
  app: App,
  libraries: readonly SourceHead[],
): Promise<number> {
  const stores = [...new Set(libraries.map(({ container_id }) => container_id))];
  const connections = await listConnectionBytes(app.db, stores);
  const longest = libraries.map(({ body }) => body).sort((a, b) => b - a);
  return (
    CONNECTION_TIMES * sum(connections, (bytes) => bytes) +
    LIBRARY_TIMES * sum(longest.slice(0, AT_ONCE), (bytes) => bytes) +
    sum(libraries, ({ texts }) => EACH + texts)
  );
}

function sum<Item>(items: readonly Item[], bytesOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + bytesOf(item), 0);
}

/** @throws Failure `conflict` for one that is another now: the session is planned anew */
export async function readSource<K extends Kind>(
  app: App,
  definition: ResourceHandler<K>,
  { id, version }: Pick<SourceHead, 'id' | 'version'>,
): Promise<Resource<K['body']>> {
  const source = await findResource(app.db, id);
  if (isOf(definition, source) && source.version === version) return source;
  throw new Failure('conflict', 'the credential sources were changed in the meantime');
}

export type EncodeSecret = (found: FoundSecret) => Promise<SessionCredential>;

/** What encodes the secrets of one session, in turns with those of others. */
export function secretEncoderFor(app: App): EncodeSecret {
  let bytes = 0;
  return async (found) => {
    await giveWay(app);
    const credential = describeSecret(found);
    bytes += Buffer.byteLength(credential.secret.raw, 'base64');
    if (bytes > MOST_BYTES) throw refuseTooLong();
    return credential;
  };
}

/** A few at a time. */
async function openAll(
  app: App,
  credentials: readonly SourceHead[],
  encode: EncodeSecret,
): Promise<SessionCredential[]> {
  const encoded: SessionCredential[] = [];
  for (let at = 0; at < credentials.length; at += AT_ONCE) {
    const some = credentials.slice(at, at + AT_ONCE);
    for (const one of await Promise.all(
      some.map((head) => readSource(app, credentialDefinition, head)),
    )) {
      encoded.push(await encode(openOne(app, one)));
    }
  }
  return encoded;
}

function openOne(app: App, credential: Resource<CredentialBody>): FoundSecret {
  const { id, name, description, container_id, subtype } = credential;
  const secret = presentCredential(subtype, credential.body, openCredential(app, credential));
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
