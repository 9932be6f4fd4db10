import { Buffer } from 'node:buffer';
import { remembered } from '../../core/remembered.ts';
import { type Certificate, isSelfIssued, isSignedBy } from '../../x509/certificate.ts';

/** What chain building needs of an issuer. */
export interface ChainMember {
  id: string;
  certificate: Certificate;
  manual_chain: readonly string[] | null;
}

/**
 * Works out the chain of every issuer of a mount: itself first, then its parents, each followed
 * by its own chain; nothing comes twice, so cross-signed sets and cycles end (contract 3.4).
 * A manual chain is taken as it stands, without issuers that are gone.
 *
 * @param rest called between two steps of what may be long: every signature is verified
 * @returns ids by issuer id
 */
export async function planChains(
  members: readonly ChainMember[],
  rest: () => Promise<void>,
): Promise<Map<string, string[]>> {
  const parents = await findParents(members, rest);
  const byId = new Map(members.map((member) => [member.id, member]));
  const chains = new Map<string, string[]>();
  for (const member of members) {
    if (member.manual_chain !== null && member.manual_chain.length > 0) {
      chains.set(
        member.id,
        member.manual_chain.filter((id) => byId.has(id)),
      );
      continue;
    }
    const chain: string[] = [];
    appendChain(member, parents, chain, new Set());
    chains.set(member.id, chain);
    await rest();
  }
  return chains;
}

function appendChain(
  member: ChainMember,
  parents: ReadonlyMap<string, readonly ChainMember[]>,
  chain: string[],
  seen: Set<string>,
): void {
  // The same certificate imported twice is one issuer, so ids tell certificates apart.
  if (seen.has(member.id)) return;
  seen.add(member.id);
  chain.push(member.id);
  for (const parent of parents.get(member.id) ?? []) appendChain(parent, parents, chain, seen);
}

/** The issuers that signed each one, self-signed ones first. */
async function findParents(
  members: readonly ChainMember[],
  rest: () => Promise<void>,
): Promise<Map<string, ChainMember[]>> {
  const bySubject = new Map<string, ChainMember[]>();
  for (const member of members) {
    const subject = nameKey(member.certificate.subject);
    const same = bySubject.get(subject);
    if (same) same.push(member);
    else bySubject.set(subject, [member]);
  }
  const parents = new Map<string, ChainMember[]>();
  const selfSigned = new Map<string, boolean>();
  for (const member of members) {
    selfSigned.set(
      member.id,
      isSelfIssued(member.certificate) && isSigned(member.certificate, member.certificate),
    );
    await rest();
  }
  for (const member of members) {
    if (selfSigned.get(member.id)) continue;
    const candidates = bySubject.get(nameKey(member.certificate.issuer)) ?? [];
    const signers: ChainMember[] = [];
    for (const candidate of candidates) {
      if (candidate.id === member.id) continue;
      if (isSigned(member.certificate, candidate.certificate)) signers.push(candidate);
      await rest();
    }
    signers.sort((a, b) => Number(selfSigned.get(b.id)) - Number(selfSigned.get(a.id)));
    parents.set(member.id, signers);
  }
  return parents;
}

const signedBy = remembered((_certificate: Certificate) => new WeakMap<Certificate, boolean>());

/** Whether one certificate is signed with the key of another: verified once while both are in use. */
function isSigned(certificate: Certificate, signer: Certificate): boolean {
  const known = signedBy(certificate).get(signer);
  if (known !== undefined) return known;
  const signed = isSignedBy(certificate, signer.subjectPublicKeyInfo);
  signedBy(certificate).set(signer, signed);
  return signed;
}

function nameKey(name: Uint8Array): string {
  return Buffer.from(name.buffer, name.byteOffset, name.length).toString('latin1');
}
