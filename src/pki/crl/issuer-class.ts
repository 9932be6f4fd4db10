import { hash } from 'node:crypto';
import type { Authority } from '../authority/authority.ts';
import type { Issuer } from '../issuers/issuer.ts';
import type { Key } from '../keys/key.ts';
import type { CrlConfig } from './config.ts';

/** Issuers with the same subject and key: to the world they are one, with one list. */
export interface IssuerClass {
  /** Hex; stays the same while subject and key do. */
  id: string;
  members: readonly Issuer[];
  /** A member that may sign lists, with its key; undefined: nobody may. */
  signer: { issuer: Issuer; key: Key } | undefined;
  /** Revocations whose issuer is not known go on this list. */
  takesUnassigned: boolean;
}

const classIdOf = (issuer: Issuer): string =>
  hash(
    'sha256',
    Buffer.concat([issuer.certificate.subject, issuer.certificate.subjectPublicKeyInfo]),
  ).slice(0, 40);

/** Works out the class of an issuer. */
export function planClass(authority: Authority, issuer: Issuer): IssuerClass {
  const id = classIdOf(issuer);
  const members = [...authority.issuers.values()].filter((member) => classIdOf(member) === id);
  const signing = members.find(
    ({ settings, key_id }) => settings.usage.includes('crl-signing') && authority.keys.has(key_id),
  );
  const key = signing && authority.keys.get(signing.key_id);
  return {
    id,
    members,
    signer: signing && key && { issuer: signing, key },
    takesUnassigned: members.some((member) => member.id === authority.defaults.default_issuer),
  };
}

/** Says whether a revocation belongs on a class's list. */
export function belongsOnList(
  authority: Authority,
  issuers: IssuerClass,
  issuer_id: string,
): boolean {
  if (issuers.members.some(({ id }) => id === issuer_id)) return true;
  return issuers.takesUnassigned && !authority.issuers.has(issuer_id);
}

/**
 * What a list is built from besides revocations, as one short text: when it changes, the list
 * is built anew whatever its age.
 */
export function listBase(authority: Authority, issuers: IssuerClass, config: CrlConfig): string {
  const { signer, members, takesUnassigned } = issuers;
  const ground = [
    signer?.issuer.settings.revocation_signature_algorithm ?? '',
    members.map(({ id }) => id).join(),
    // Whose revocations have lost their issuer depends on which issuers there are.
    takesUnassigned ? [...authority.issuers.keys()].join() : '',
    String(config.disable),
    config.expiry,
  ];
  return hash('sha256', ground.join('\n')).slice(0, 32);
}
