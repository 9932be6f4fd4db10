import { setImmediate as nextTurn } from 'node:timers/promises';
import { planLease } from '../../access/auth/leases/operations.ts';
import { signInTurn } from '../../access/concurrency/operations.ts';
import { tellKeptFacts } from '../../access/identity/facts.operations.ts';
import { settle } from '../../access/standing/attempts.operations.ts';
import { judgeAgainWith } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { effectiveLeaseTtls, fullPath, type Mount } from '../../app/mount.ts';
import type { Answer } from '../../app/route.ts';
import { Failure } from '../../core/failure.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { OWN_PARTY } from '../../core/fairness/party.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import type { Soon } from '../../core/steps.ts';
import { readMounts } from '../../mounts/operations.ts';
import { holdMount, settingsTagOf } from '../../mounts/store.ts';
import { isForRoom } from '../../store/waiting-sets.ts';
import type { Effect, Write } from '../../store/write.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import { formatColonHex, formatSerial } from '../../x509/serial.ts';
import { encodeIssued, type HandedOutKey, type IssuedAnswer } from '../certificates/answer.ts';
import { insertCertificate, planNames } from '../certificates/store.ts';
import { generateKeyToHandOut, signCertificate, signWithKey } from '../keys/operations.ts';
import { resolveSigningIssuer } from '../mount-state/authority.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import { chooseUrls, lineOfAuthority, readAuthority } from '../mount-state/operations.ts';
import { planLeafOnThread, requireSoundKeyOf } from '../planning/operations.ts';
import { isHeavyLeaf, type PlannedLeaf } from '../planning/task.ts';
import { namesOfCsr } from '../profile/csr-fields.ts';
import { requireCsr } from '../profile/csr-rules.ts';
import { describeIssuing } from '../profile/issuing.ts';
import { type LeafContext, type LeafPlan, planIssue, planSign } from '../profile/leaf.ts';
import { planCertificate } from '../profile/plan.ts';
import type { IssueRequest, SignRequest } from '../profile/request.ts';
import { listLookedUp } from '../roles/compiled-rules.ts';
import type { RequestedNames } from '../roles/name-policy.ts';
import { requireRole } from '../roles/operations.ts';
import type { Role } from '../roles/role.ts';
import { newSerialNumber } from '../roots/operations.ts';
import { holdGround } from './store.ts';

interface Target {
  /** Name of the role. */
  role: string;
  /** Of the path; without it the role's own counts. */
  issuer_ref?: string | undefined;
  /** Unix seconds: no certificate ends later. */
  latest?: number | undefined;
}

interface Ground {
  role: Role;
  /** Refuses the write set once role, issuers or keys are not these any more. */
  held: Write;
  issuer: Issuer;
  key: Key;
  context: LeafContext;
}

/** Makes a key and a certificate for it, within the bounds of a role. */
export async function issueCertificate(
  app: App,
  caller: Caller,
  input: IssueRequest & Target,
): Promise<Answer<IssuedAnswer>> {
  return settle(
    app,
    caller,
    async () => commitSigned(app, caller, await planIssuance(app, caller, input)),
    ATTEMPTS,
    { app, thing: lineOfAuthority(caller.mount.id) },
  );
}

/** What is changed while a certificate is being made makes another one necessary. */
const ATTEMPTS = 8;

/** Signs a CSR within the bounds of a role. */
export async function signCsr(
  app: App,
  caller: Caller,
  input: SignRequest & Target,
): Promise<Answer<IssuedAnswer>> {
  const judgeNames = judgeBringing(caller);
  return settle(
    app,
    caller,
    async () => {
      const ground = await readGround(app, caller, input);
      const { plan, ...subject } = await decideSign(app, caller, input, ground);
      const judging = judgeNames(() => namesOfCsr(ground.role, input, plan.names));
      if (judging) await judging;
      return commitSigned(app, caller, await planSigned(app, caller, input, ground, plan, subject));
    },
    ATTEMPTS,
    { app, thing: lineOfAuthority(caller.mount.id) },
  );
}

/**
 * Judges names as if they had been sent as fields, whatever form they come in; those of the last plan
 * again whenever the request is judged again.
 */
function judgeBringing(caller: Caller): (names: NamesBrought) => Soon<void> {
  let brought: NamesBrought | undefined;
  const judge = (): Soon<void> => {
    const may = brought && caller.mayBring?.(brought);
    return may instanceof Promise ? may.then(requireBrought) : requireBrought(may);
  };
  judgeAgainWith(caller, judge);
  return (names) => {
    brought = names;
    return judge();
  };
}

function requireBrought(may: boolean | undefined): void {
  if (may === false) throw new Failure('forbidden', 'permission denied');
}

type NamesBrought = Parameters<NonNullable<Caller['mayBring']>>[0];

async function decideSign(
  app: App,
  caller: Caller,
  input: SignRequest & Target,
  { role, context }: Ground,
): Promise<Subject & { plan: LeafPlan }> {
  if (isHeavyLeaf(role, input)) {
    const { role: _, issuer_ref: __, latest: ___, ...request } = input;
    const { plan, ...subject } = await planLeafOnThread(app, caller, {
      kind: 'sign',
      role,
      request,
      context,
    });
    return { plan, ...requireSubject(subject) };
  }
  const signed = await requireCsr(input.csr);
  const plan = planSign(role, input, signed, context);
  await requireSoundKeyOf(app, caller, signed.key, signed.csr.subjectPublicKeyInfo);
  return { plan, subjectPublicKeyInfo: signed.csr.subjectPublicKeyInfo, key: signed.key };
}

function requireSubject({ subjectPublicKeyInfo, key }: Omit<PlannedLeaf, 'plan'>): Subject {
  if (!subjectPublicKeyInfo) throw new Error('a request was decided on without its key');
  return { subjectPublicKeyInfo, key };
}

/** At once but for what takes long. */
function decideIssue(
  app: App,
  caller: Caller,
  input: IssueRequest & Target,
  { role, context }: Ground,
): { plan: LeafPlan; key: KeyDescription } | Promise<{ plan: LeafPlan; key: KeyDescription }> {
  if (isHeavyLeaf(role, input)) {
    const { role: _, issuer_ref: __, latest: ___, ...request } = input;
    return planLeafOnThread(app, caller, { kind: 'issue', role, request, context });
  }
  const { key, ...plan } = planIssue(role, input, context);
  return { plan, key };
}

async function readGround(app: App, caller: Caller, target: Target): Promise<Ground> {
  const mount = await readMountOf(app, caller);
  const mount_id = mount.id;
  const { role, body_tag } = await requireRole(app, caller, target.role);
  const authority = await readAuthority(app, mount_id);
  const { issuer, key } = resolveSigningIssuer(authority, target.issuer_ref ?? role.issuer_ref);
  const { issuing_version } = authority.defaults;
  const mount_tag = settingsTagOf(mount) ?? '';
  const told = readIdentity(app, caller, role);
  const identity = told instanceof Promise ? await told : told;
  const held = holdGround({
    mount_id,
    role: target.role,
    role_tag: body_tag,
    issuing_version,
    issuer_id: issuer.id,
    issuer_version: issuer.version,
    key_id: key.id,
    mount_tag,
  });
  return {
    role,
    held,
    issuer,
    key,
    context: {
      issuer: describeIssuing(issuer, key, chooseUrls(authority, issuer)),
      mount: effectiveLeaseTtls(mount.config),
      now: Math.floor(app.now() / 1000),
      identity,
      latest: target.latest,
    },
  };
}

/** Of the caller, as far as the role's templates name it. */
function readIdentity(app: App, { identity }: Caller, role: Role): Soon<IdentityFacts | undefined> {
  const named = listLookedUp(role);
  return identity && named.selectors.length > 0 ? tellKeptFacts(app, identity, named) : identity;
}

/** As it is now: it may have been tuned since the request came. */
async function readMountOf(app: App, { mount }: Caller): Promise<Mount> {
  const present = (await readMounts(app)).get(fullPath(mount));
  if (present?.id !== mount.id) throw new Failure('not_found', 'the mount was moved or removed');
  return present;
}

interface Subject {
  /** DER. */
  subjectPublicKeyInfo: Uint8Array;
  key: KeyDescription;
  /** Only of a key that was just made. */
  private_key?: HandedOutKey;
}

/** A signed certificate, and what makes it known; nothing is committed yet. */
export interface SignedLeaf {
  answer: IssuedAnswer;
  warnings: string[];
  serial: string;
  /** Unix seconds. */
  not_after: number;
  /** Are written before those, where there are many: {@link writeNames}. */
  names: { mount_id: string; pages: ReturnType<typeof planNames>['pages'] };
  /** Belong into the write set that hands the certificate out; nothing is stored with `no_store`. */
  effects: Effect[];
  role: Role;
}

/**
 * Makes a key and a certificate within the bounds of a role for another write set: whoever
 * calls commits its effects before anybody sees the certificate, and sees to permission.
 *
 * @param caller with the mount of the authority
 */
export async function planIssuance(
  app: App,
  caller: Caller,
  input: IssueRequest & Target,
): Promise<SignedLeaf> {
  const ground = await readGround(app, caller, input);
  const { plan, key } = await decideIssue(app, caller, input, ground);
  const { public_key, private_key } = await generateKeyToHandOut(app, caller, key);
  return planSigned(app, caller, input, ground, plan, {
    subjectPublicKeyInfo: public_key,
    key,
    private_key,
  });
}

/** Names of a certificate that are encoded, checked and stored in a millisecond or so. */
const LONG = 200;

function countNames({ dns, email, ip, uri, other }: RequestedNames): number {
  return dns.length + email.length + ip.length + uri.length + other.length;
}

async function planSigned(
  app: App,
  caller: Caller,
  input: (IssueRequest | SignRequest) & Target,
  { role, held, issuer, key, context }: Ground,
  plan: LeafPlan,
  subject: Subject,
): Promise<SignedLeaf> {
  if (plan.metadata) {
    throw new Failure('invalid', 'cert_metadata cannot be kept by this server', {
      fields: { cert_metadata: 'nothing' },
    });
  }
  const mount_id = caller.mount.id;
  const serialNumber = newSerialNumber(app);
  // By identity what every certificate of the issuer has is encoded once, also where the plan was
  // made on another thread.
  const { signer, urls } = { signer: context.issuer, urls: context.issuer.urls };
  const isLong = countNames(plan.names) > LONG;
  const tbs = planCertificate(
    { ...plan.certificate, signer, urls },
    {
      subjectPublicKeyInfo: subject.subjectPublicKeyInfo,
      key: { key_type: subject.key.key_type, key_bits: subject.key.key_bits },
      serialNumber,
    },
  );
  if (isLong) await nextTurn();
  const der = await signCertificate(tbs, (algorithm, data) =>
    signInTurn(app, caller, key, () => signWithKey(app, mount_id, key, algorithm, data)),
  );
  const serial = formatSerial(serialNumber);
  Object.assign(caller.record.outcome, { serial_number: serial, issuer_id: issuer.id });

  if (isLong) await nextTurn();
  const { names } = plan;
  const row = {
    serial,
    issuer_id: issuer.id,
    role: input.role,
    subject_cn: names.common_name,
    not_before: tbs.notBefore,
    not_after: tbs.notAfter,
    der,
  };
  const stored = role.no_store ? [] : [...names.dns, ...names.email, ...names.ip, ...names.uri];
  const { own, pages } = planNames({ mount_id, serial }, stored);
  const effects = [held, ...(role.no_store ? [] : insertCertificate(mount_id, row, own))];
  const answer = encodeIssued({
    der,
    facts: {
      serial_number: serial,
      expiration: tbs.notAfter,
      authority_key_id: formatColonHex(context.issuer.key_identifier),
    },
    chain: issuer.chain,
    ...(subject.private_key && { private_key: subject.private_key }),
    request: input,
  });
  const { warnings } = plan;
  return {
    answer,
    warnings,
    serial,
    not_after: tbs.notAfter,
    names: { mount_id, pages },
    effects,
    role,
  };
}

/**
 * Has the names of a certificate that are too many for its own write set written before it. They tell nobody anything
 * until it is there, so that they need no record.
 */
export async function writeNames(app: App, names: SignedLeaf['names']): Promise<void> {
  try {
    for (const { insert } of names.pages) {
      await app.store.commit([holdMount({ id: names.mount_id }), ...insert]);
    }
  } catch (error) {
    await takeBackNames(app, names);
    throw error;
  }
}

/**
 * Takes them back where there will be no certificate, in the server's own name: whoever has no room for more writes
 * leaves none behind. What stays, as when the server is killed, leads to no certificate.
 */
export function takeBackNames(app: App, { pages }: SignedLeaf['names']): Promise<void> {
  return doFor(OWN_PARTY, async () => {
    for (const { remove } of pages) await app.store.commit([remove()]).catch(() => {});
  });
}

/** Whether a write set surely was not written. */
const isRefused = (error: unknown): boolean =>
  isForRoom(error) || !(error instanceof Failure) || error.kind !== 'unavailable';

async function commitSigned(
  app: App,
  caller: Caller,
  leaf: SignedLeaf,
): Promise<Answer<IssuedAnswer>> {
  // The row is durable before the certificate leaves the process: a crash in between loses a
  // signature that nobody has seen, never one that nobody can revoke. Without a row to keep,
  // the record of the request still comes first.
  const { answer, warnings, role, names } = leaf;
  const leased = leaseOf(app, caller, role, leaf);
  const all = [...leaf.effects, ...(leased?.effects ?? [])];
  await writeNames(app, names);
  try {
    // Names may have been granted to who the caller was.
    if (isTemplated(role)) await app.commitOnce(caller, all);
    else await app.commit(caller, all);
  } catch (error) {
    if (isRefused(error)) await takeBackNames(app, names);
    throw error;
  }
  return { data: answer, warnings, ...(leased && { lease: leased.lease }) };
}

const isTemplated = (role: Role): boolean =>
  role.allowed_domains_template || role.allowed_uri_sans_template;

/** What revokes the certificate when the token that asked for it ends. */
function leaseOf(
  app: App,
  caller: Caller,
  role: Role,
  { serial, not_after }: { serial: string; not_after: number },
): ReturnType<typeof planLease> | undefined {
  if (!role.generate_lease || role.no_store) return undefined;
  const expires_at = not_after;
  return planLease(app, caller, {
    kind: 'certificate',
    data: { serial },
    expires_at,
    renewable: false,
  });
}
