import { generateKeyPair, type KeyObject } from 'node:crypto';
import { askerOf, makeKeyInTurn } from '../../../access/concurrency/operations.ts';
import type { App } from '../../../app/app.ts';
import { encodeSshPublicKey } from '../../../ssh/public-key.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import type { FoundSecret } from '../../sessions/credentials/credential.ts';
import type { VaultAnswer, VaultConnection } from '../../vault/client/answer.ts';
import { askVault } from '../../vault/client/client.ts';
import { SECRET } from '../../vault/client/coming.ts';
import { textsOf, textsOfPath } from '../../vault/client/repeated.ts';
import { planSshRequest } from '../libraries/issue-request.ts';
import type { LibraryBody } from '../libraries/library.ts';
import type { IssueRequest } from './issued.ts';

export type Secret = VaultAnswer['data'];

export type Reading =
  | { mapped: true; found: Pick<FoundSecret, 'secret' | 'credential'> }
  | { mapped: false; missing: string };

export interface SshCertificateRequest extends IssueRequest {
  makePair: MakePair;
  onGone: BrokerCaller['onGone'];
}

export async function askForSshCertificate(
  app: App,
  connection: VaultConnection,
  {
    attributes,
    facts,
    makePair,
    onGone,
  }: { attributes: LibraryBody['attributes'] } & Pick<
    SshCertificateRequest,
    'facts' | 'makePair' | 'onGone'
  >,
): Promise<{ answer: VaultAnswer; read: (secret: Secret) => Reading }> {
  const { key_type = 'ed25519', key_bits = 0 } = attributes;
  const { username, path, issues, body } = planSshRequest(attributes, facts);
  const pair = issues ? undefined : await makePair(key_type, key_bits);
  const kind = key_type === 'ecdsa' ? 'ec' : key_type;
  const key = pair
    ? { public_key: encodeSshPublicKey(pair.publicKey) }
    : { key_type: kind, key_bits };
  const answer = await askVault(app, connection, {
    method: 'POST',
    path,
    bounds: SECRET,
    onGone,
    // Of its own fields not their names.
    hides: () => [...textsOfPath(path), ...textsOf(JSON.stringify(Object.values(body)))],
    body: JSON.stringify({ ...body, ...key }),
  });
  return {
    answer,
    read(secret = {}) {
      const { signed_key } = secret;
      const private_key =
        pair?.privateKey.export({ type: 'pkcs8', format: 'pem' }) ?? secret.private_key;
      if (typeof signed_key !== 'string') return { mapped: false, missing: 'signed_key' };
      if (typeof private_key !== 'string') return { mapped: false, missing: 'private_key' };
      const credential = { username, private_key, certificate: signed_key.trim() };
      return { mapped: true, found: { secret: credential, credential } };
    },
  };
}

const CURVES: Readonly<Record<number, string>> = { 256: 'P-256', 384: 'P-384', 521: 'P-521' };

interface KeyPair {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

type MakePair = (type: string, bits: number) => Promise<KeyPair>;

export function newKeyPair(
  app: App,
  caller: BrokerCaller,
  type: string,
  bits: number,
): Promise<KeyPair> {
  const make = (): Promise<KeyPair> => generatePair(type, bits);
  return type === 'rsa' ? makeKeyInTurn(app, askerOf(caller), make) : make();
}

function generatePair(type: string, bits: number): Promise<KeyPair> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, publicKey: KeyObject, privateKey: KeyObject): void => {
      if (error) reject(error);
      else resolve({ publicKey, privateKey });
    };
    if (type === 'rsa') generateKeyPair('rsa', { modulusLength: bits || 2048 }, done);
    else if (type === 'ecdsa') generateKeyPair('ec', { namedCurve: CURVES[bits] ?? 'P-256' }, done);
    else generateKeyPair('ed25519', {}, done);
  });
}
