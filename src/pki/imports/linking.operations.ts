import type { OwnPath } from '../../acl/name-form.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Breath } from '../../core/fairness/breath.ts';
import type { Effect } from '../../store/write.ts';
import { type Certificate, isSignedBy, parseCertificate } from '../../x509/certificate.ts';
import { findCertificate } from '../certificates/store.ts';
import type { FreshKey } from '../keys/generation.operations.ts';
import { sealKey } from '../keys/sealed-keys.operations.ts';
import { type Issuer, revokedAt, tbsHashOf } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import { ownPaths } from '../mount-state/own-paths.ts';
import { listRevocationsOf, type Revocation } from '../mount-state/revocations.store.ts';
import { listRemembered } from '../mount-state/revoked-issuers.store.ts';
import type { MountState } from '../mount-state/state.ts';
import { type Imported, settingsOf, textOf } from './plan.ts';

/** The keys of a mount by what is known of each to everybody. */
export const publicKeys = ({ keys }: MountState): Map<string, Key> =>
  new Map([...keys.values()].map((key) => [textOf(key.public_key), key]));

export interface PlannedKeys {
  /** All of the mount after the import, by public key. */
  all: Map<string, Key>;
  added: Key[];
  existing: Key[];
  effects: Effect[];
}

/** Finds each key among the mount's, or plans to keep it. */
export async function planKeys(
  app: App,
  mount_id: string,
  mountState: MountState,
  wanted: readonly FreshKey[],
  name = '',
): Promise<PlannedKeys> {
  const breath = new Breath();
  const planned: PlannedKeys = {
    all: publicKeys(mountState),
    added: [],
    existing: [],
    effects: [],
  };
  for (const fresh of wanted) {
    const known = planned.all.get(textOf(fresh.public_key));
    if (known) {
      planned.existing.push(known);
      continue;
    }
    const { key, insert } = sealKey(app, mount_id, fresh, name);
    planned.all.set(textOf(key.public_key), key);
    planned.added.push(key);
    planned.effects.push(insert);
    await breath.take();
  }
  return planned;
}

/** Finds each certificate among the mount's, or makes an issuer of it, and links what has its key now. @see P-233, P-234 */
export function planIssuers(
  app: App,
  mountState: MountState,
  certificates: readonly Certificate[],
  keys: ReadonlyMap<string, Key>,
): Imported {
  const keyOf = ({ subjectPublicKeyInfo }: Certificate): string =>
    keys.get(textOf(subjectPublicKeyInfo))?.id ?? '';
  const linked: Issuer[] = [];
  const known = new Map<string, Issuer>();
  for (const issuer of mountState.issuers.values()) {
    const key_id = issuer.key_id === '' ? keyOf(issuer.certificate) : issuer.key_id;
    const present = key_id === issuer.key_id ? issuer : { ...issuer, key_id };
    if (present !== issuer) linked.push(present);
    known.set(textOf(issuer.certificate.raw), present);
  }
  const now_ms = app.now();
  const issuers: Issuer[] = [];
  const added: Issuer[] = [];
  for (const certificate of certificates) {
    const present = known.get(textOf(certificate.raw));
    const issuer: Issuer = present ?? {
      id: app.newId(),
      name: '',
      key_id: keyOf(certificate),
      certificate,
      chain: [],
      signed_by: '',
      settings: settingsOf(certificate),
      revoked_at_ms: undefined,
      revocation_reason: 0,
      modified_at_ms: now_ms,
      created_at_ms: now_ms,
      version: 0,
    };
    if (!present) added.push(issuer);
    issuers.push(issuer);
  }
  return { issuers, added, linked };
}

/** When and why an issuer was revoked. */
type Revoked = Pick<Revocation, 'revoked_at_ms' | 'reason'>;

/** Certificates that are looked up at once. */
const AT_ONCE = 200;

/**
 * Issuers whose certificates the mount knows to be revoked, as they come in: to import one anew undoes nothing.
 *
 * @see P-248
 */
export async function markRevokedOnes(
  app: App,
  mount_id: string,
  mountState: MountState,
  imported: Imported,
): Promise<Imported> {
  const { added } = imported;
  const present = new Map<string, Revoked>();
  for (const {
    certificate,
    revoked_at_ms,
    revocation_reason: reason,
  } of mountState.issuers.values()) {
    if (revoked_at_ms === undefined) continue;
    present.set(tbsHashOf(certificate), { revoked_at_ms, reason });
  }
  const marked: Issuer[] = [];
  for (let at = 0; at < added.length; at += AT_ONCE) {
    const some = added.slice(at, at + AT_ONCE);
    const hashes = some.map(({ certificate }) => tbsHashOf(certificate));
    const removed = await listRemembered(app.db, mount_id, hashes);
    const known = new Map<string, Revoked>([
      ...removed.map((row) => [row.tbs_sha256, row] as const),
      ...present,
    ]);
    const serials = some.map(({ certificate }) => certificate.serial);
    const rows = await listRevocationsOf(app.db, mount_id, serials);
    const bySerial = new Map(rows.map((row) => [row.serial, row]));
    for (const issuer of some) {
      const { certificate } = issuer;
      const row = bySerial.get(certificate.serial);
      const isMeant = row && (await isOf(app, mount_id, mountState, certificate, row));
      const revoked = known.get(tbsHashOf(certificate)) ?? (isMeant ? row : undefined);
      marked.push(revoked ? revokedAt(issuer, revoked) : issuer);
    }
  }
  const byId = new Map(marked.map((issuer) => [issuer.id, issuer]));
  const issuers = imported.issuers.map((issuer) => byId.get(issuer.id) ?? issuer);
  return { ...imported, issuers, added: marked };
}

/** Whether it is this certificate that was revoked: serial numbers of others elsewhere may be the same. */
async function isOf(
  app: App,
  mount_id: string,
  { issuers }: MountState,
  certificate: Certificate,
  { serial, issuer_id }: Revocation,
): Promise<boolean> {
  const stored = await findCertificate(app.db, mount_id, serial);
  if (stored) return isSame(stored.der, certificate);
  const signer = issuers.get(issuer_id)?.certificate;
  return signer !== undefined && isSignedBy(certificate, signer.subjectPublicKeyInfo);
}

/** Whether it is the same certificate, whatever its signature is like. */
function isSame(der: Uint8Array, certificate: Certificate): boolean {
  if (Buffer.compare(der, certificate.raw) === 0) return true;
  try {
    return tbsHashOf(parseCertificate(der)) === tbsHashOf(certificate);
  } catch {
    // What cannot be read is none of an authority's.
    return false;
  }
}

/** Keys of the mount that new issuers will sign with, and issuers that are given one. */
export function pathsOf(
  caller: Caller,
  { keys }: MountState,
  { added, linked }: Imported,
): OwnPath[] {
  const used = new Set(added.flatMap(({ key_id }) => keys.get(key_id) ?? []));
  return [
    ...[...used].flatMap(({ id, name }) => ownPaths(caller, 'key', { id, name })),
    ...linked.flatMap(({ id, name }) => ownPaths(caller, 'issuer', { id, name })),
  ];
}
