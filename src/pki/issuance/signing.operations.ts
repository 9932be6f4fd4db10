import { setImmediate as nextTurn } from 'node:timers/promises';
import { signInTurn } from '../../access/concurrency/signatures.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { Effect } from '../../store/write.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import { formatColonHex, formatSerial } from '../../x509/serial.ts';
import { encodeIssued, type SignedLeafAnswer } from '../certificates/answer.ts';
import { insertMetadata } from '../certificates/metadata/store.ts';
import { planNames } from '../certificates/names.store.ts';
import { insertCertificate } from '../certificates/store.ts';
import { placeInShard } from '../crl/shards.operations.ts';
import { signCertificate, signWithKey } from '../keys/signing.operations.ts';
import type { LeafPlan } from '../profile/leaf.ts';
import { planCertificate } from '../profile/plan.ts';
import type { RequestedNames } from '../roles/name-policy.ts';
import type { Role } from '../roles/role.ts';
import { newSerialNumber } from '../roots/operations.ts';
import type { IssuanceContext } from './context.operations.ts';

export interface Subject {
  /** DER. */
  subjectPublicKeyInfo: Uint8Array;
  key: KeyDescription;
  /** Big-endian magnitude, where that was decided on with the rest; made anew unless told. */
  serialNumber?: Uint8Array;
}

/** A signed certificate, and what makes it known; nothing is committed yet. */
export interface SignedLeaf<Answer = SignedLeafAnswer> {
  answer: Answer;
  der: Uint8Array;
  warnings: string[];
  serial: string;
  /** Unix seconds. */
  not_after: number;
  /** Are written before those, where there are many: {@link writeNames}. */
  names: { mount_id: string; pages: ReturnType<typeof planNames>['pages'] };
  /** Belong into the write set that hands the certificate out; nothing is stored with `no_store`. */
  effects: Effect[];
  role: StorageRules;
}

/** What is left of a role once the certificate is signed. */
export type StorageRules = Pick<
  Role,
  'no_store' | 'generate_lease' | 'allowed_domains_template' | 'allowed_uri_sans_template'
>;

/** What is answered, and the name of the role that was asked by, where one was. */
type SigningInput = Parameters<typeof encodeIssued>[0]['request'] & { role?: string | undefined };

/** Names of a certificate that are encoded, checked and stored in a millisecond or so. */
const LONG = 200;

function countNames({ dns, email, ip, uri, other }: RequestedNames): number {
  return dns.length + email.length + ip.length + uri.length + other.length;
}

export async function planSigned(
  app: App,
  caller: Caller,
  input: SigningInput,
  {
    role,
    held,
    issuer,
    key,
    context,
    sharding,
  }: Omit<IssuanceContext, 'role'> & { role: StorageRules },
  plan: LeafPlan,
  subject: Subject,
): Promise<SignedLeaf> {
  const mount_id = caller.mount.id;
  const serialNumber = subject.serialNumber ?? newSerialNumber(app);
  const isLong = countNames(plan.names) > LONG;
  const serial = formatSerial(serialNumber);
  const { notAfter: not_after } = plan.certificate;
  const placed = sharding && (await placeInShard(app, mount_id, sharding, { serial, not_after }));
  // By identity what every certificate of the issuer has is encoded once, also where the plan was
  // made on another thread.
  const tbs = planCertificate(
    { ...plan.certificate, signer: context.issuer, urls: placed?.urls ?? context.issuer.urls },
    { ...subject, serialNumber },
  );
  if (isLong) await nextTurn();
  const der = await signCertificate(tbs, (algorithm, data) =>
    signInTurn(app, caller, key, () => signWithKey(app, mount_id, key, algorithm, data)),
  );
  Object.assign(caller.record.outcome, { serial_number: serial, issuer_id: issuer.id });

  if (isLong) await nextTurn();
  const { names } = plan;
  const row = {
    serial,
    issuer_id: issuer.id,
    role: input.role ?? '',
    subject_cn: names.common_name,
    not_before: tbs.notBefore,
    not_after: tbs.notAfter,
    der,
    clusters: app.config.cluster_name,
  };
  const stored = role.no_store ? [] : [...names.dns, ...names.email, ...names.ip, ...names.uri];
  const { own, pages } = planNames({ mount_id, serial }, stored);
  const { metadata: data } = plan;
  const kept = { mount_id, serial, issuer_id: issuer.id, role: row.role, not_after: row.not_after };
  const effects = [
    held,
    ...(placed?.effects ?? []),
    ...(role.no_store ? [] : insertCertificate(mount_id, row, own, stored)),
    ...(data ? [insertMetadata({ ...kept, data })] : []),
  ];
  const answer = {
    ...encodeIssued({
      der,
      facts: {
        serial_number: serial,
        expiration: tbs.notAfter,
        authority_key_id: formatColonHex(context.issuer.key_identifier),
      },
      chain: issuer.chain,
      request: input,
    }),
    not_before: tbs.notBefore,
  };
  const { warnings } = plan;
  return {
    answer,
    der,
    warnings,
    serial,
    not_after: tbs.notAfter,
    names: { mount_id, pages },
    effects,
    role,
  };
}
