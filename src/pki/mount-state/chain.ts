import { Buffer } from 'node:buffer';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { type Certificate, isSelfSigned, isSignedBy } from '../../x509/certificate.ts';

/** A chain is part of every answer about its issuer, to anybody, and of all that it signs. */
export const MOST_MEMBERS = 32;
/** Of a chain as PEM. */
export const MOST_CHAIN_BYTES = 256 << 10;

/** What chain building needs of an issuer. */
export interface ChainMember {
  id: string;
  certificate: Certificate;
  manual_chain: readonly string[] | null;
}

/**
 * Works out the chain of every issuer of a mount: itself first, then its parents, each followed
 * by its own chain; nothing comes twice, so cross-signed sets and cycles end.
 * A manual chain is taken as it stands, without issuers that are gone. Either ends where it would have
 * more than {@link MOST_MEMBERS} or {@link MOST_CHAIN_BYTES}; the issuer itself is there in any case.
 *
 * @param rest called between two steps of what may be long: every signature is verified
 * @see P-94
 */
export async function planChains(
  members: readonly ChainMember[],
  rest: () => Promise<void>,
): Promise<Chains> {
  const parents = await findParents(members, rest);
  const byId = new Map(members.map((member) => [member.id, member]));
  const chains = new Map<string, string[]>();
  for (const member of members) {
    const chosen = (member.manual_chain ?? []).flatMap((id) => byId.get(id) ?? []);
    const chain = new Set<ChainMember>();
    if (chosen.length > 0) for (const one of chosen.slice(0, MOST_MEMBERS)) chain.add(one);
    else appendChain(member, parents, chain);
    chains.set(member.id, withinBytes([...chain]));
    await rest();
  }
  const signers = [...parents].flatMap(([id, [first]]) => (first ? [[id, first.id] as const] : []));
  return { chains, signers: new Map(signers) };
}

/** Both by issuer id. */
interface Chains {
  /** Ids. */
  chains: Map<string, string[]>;
  /** The id of one that signed it; none for one that signed itself. */
  signers: Map<string, string>;
}

function appendChain(
  member: ChainMember,
  parents: ReadonlyMap<string, readonly ChainMember[]>,
  chain: Set<ChainMember>,
): void {
  // The same certificate imported twice is one issuer, so members tell certificates apart.
  if (chain.has(member) || chain.size >= MOST_MEMBERS) return;
  chain.add(member);
  for (const parent of parents.get(member.id) ?? []) appendChain(parent, parents, chain);
}

/** As many of a chain's members, from the first on, as may be sent. */
function withinBytes(chain: readonly ChainMember[]): string[] {
  let bytes = 0;
  const end = chain.findIndex(({ certificate }, at) => {
    bytes += pemLength(certificate);
    return at > 0 && bytes > MOST_CHAIN_BYTES;
  });
  return chain.slice(0, end < 0 ? chain.length : end).map(({ id }) => id);
}

/** Bytes of certificates one beneath the other as PEM. */
export function chainLength(certificates: readonly Certificate[]): number {
  return certificates.reduce((bytes, certificate) => bytes + pemLength(certificate), 0);
}

/** Lines of 64 characters, a line above and one below, each with its end. */
function pemLength({ raw }: Certificate): number {
  const base64 = 4 * Math.ceil(raw.length / 3);
  return base64 + Math.ceil(base64 / 64) + '-----BEGIN CERTIFICATE-----\n'.length * 2 - 2;
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
  for (const { certificate } of members) {
    isRoot(certificate);
    await rest();
  }
  const rank = ({ certificate }: ChainMember): number => Number(isRoot(certificate));
  for (const member of members) {
    if (isRoot(member.certificate)) continue;
    const namesakes = bySubject.get(nameKey(member.certificate.issuer)) ?? [];
    const others = namesakes.filter((one) => one !== member);
    const signers = await findSigners(member.certificate, likeliestFirst(member, others), rest);
    parents.set(
      member.id,
      signers.sort((a, b) => rank(b) - rank(a)),
    );
  }
  return parents;
}

/** Whether it signed itself; found out once for each. */
export const isRoot = memoizeWeak(isSelfSigned);

/**
 * Candidates of one name in the order in which they are tried: those of the key identifier that the certificate names,
 * then those that have none, or to which it names none, then the others.
 *
 * @see RFC 5280 §4.2.1.1
 */
function likeliestFirst({ certificate }: ChainMember, others: readonly ChainMember[]): Candidates {
  const { authorityKeyId: wanted } = certificate;
  const named: ChainMember[] = [];
  const open: ChainMember[] = [];
  const strangers: ChainMember[] = [];
  for (const other of others) {
    const { subjectKeyId: own } = other.certificate;
    if (!wanted || !own) open.push(other);
    else if (Buffer.compare(own, wanted) === 0) named.push(other);
    else strangers.push(other);
  }
  return { likely: [...named, ...open], strangers };
}

interface Candidates {
  likely: ChainMember[];
  /** Of another key identifier: tried where no other has signed. */
  strangers: ChainMember[];
}

/**
 * Most candidates that are tried for one certificate: a mount may have a thousand authorities of one name and of
 * keys that verify slowly, and a chain has no more members than this.
 */
const MOST_TRIED = MOST_MEMBERS;

/** Certificates of one subject are tried in pairs, of which there may be a million: four bytes are kept of each. */
let lastNumber = 0;
const numberOf = memoizeWeak((_certificate: Certificate) => {
  lastNumber += 1;
  return lastNumber;
});

/** By certificate, the candidates whose keys were tried: twice their number, plus one if the key verified it. */
const triedOn = memoizeWeak((_certificate: Certificate) => ({ last: new Uint32Array(0) }));

/** The candidates whose keys verify a certificate: each pair is verified once while both are in use. */
async function findSigners(
  certificate: Certificate,
  { likely, strangers }: Candidates,
  rest: () => Promise<void>,
): Promise<ChainMember[]> {
  const known = new Set(triedOn(certificate).last);
  const tried: number[] = [];
  const signers: ChainMember[] = [];
  for (const candidates of [likely, strangers]) {
    if (signers.length > 0) break;
    for (const candidate of candidates.slice(0, MOST_TRIED - tried.length)) {
      const number = 2 * numberOf(candidate.certificate);
      const isSigned =
        known.has(number + 1) ||
        (!known.has(number) && isSignedBy(certificate, candidate.certificate.subjectPublicKeyInfo));
      tried.push(number + Number(isSigned));
      if (isSigned) signers.push(candidate);
      await rest();
    }
  }
  triedOn(certificate).last = Uint32Array.from(tried);
  return signers;
}

function nameKey(name: Uint8Array): string {
  return Buffer.from(name.buffer, name.byteOffset, name.length).toString('latin1');
}
