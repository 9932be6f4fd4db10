import { signInTurn } from '../../access/concurrency/signatures.operations.ts';
import { retryOnConflict } from '../../access/standing/attempts.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import type { Write } from '../../store/write.ts';
import { formatSerial } from '../../x509/serial.ts';
import { encodeSignedCa, type SignedCaAnswer } from '../certificates/answer.ts';
import { insertCertificate } from '../certificates/store.ts';
import { placeInShard } from '../crl/shards.operations.ts';
import { judgeBringing } from '../issuance/brought.operations.ts';
import { type IssuerContext, readIssuerContext } from '../issuance/context.operations.ts';
import { requireUnblockedKey } from '../keys/blocked.operations.ts';
import { signCertificate, signWithKey } from '../keys/signing.operations.ts';
import { lineOfMount } from '../mount-state/operations.ts';
import { planIntermediateOnThread, requireSoundKeyOf } from '../planning/operations.ts';
import { askedBy, isHeavyRequest, type PlannedIntermediate } from '../planning/task.ts';
import { MOST_CA_BYTES } from '../profile/ca-request.ts';
import { requireCsr, type SignedCsr } from '../profile/csr-rules.ts';
import { type IntermediateRequest, planIntermediate } from '../profile/intermediate.ts';
import { planCertificate } from '../profile/plan.ts';
import { newSerialNumber } from '../roots/operations.ts';

export type IntermediateInput = IntermediateRequest & { issuer_ref?: string | undefined };

/** Signs the request of a CA that is to be beneath an issuer. */
export async function signIntermediate(
  app: App,
  caller: Caller,
  { issuer_ref = 'default', ...request }: IntermediateInput,
): Promise<DataResult<SignedCaAnswer>> {
  const judgeValues = judgeBringing(caller);
  let signed: Promise<SignedCsr> | undefined;
  // Once, however often the certificate is planned.
  const readCsr = (): Promise<SignedCsr> => {
    signed ??= requireCsr(request.csr);
    return signed;
  };
  return retryOnConflict(
    app,
    caller,
    async () => {
      const rests = await readIssuerContext(app, caller, issuer_ref);
      const planned = await decide(app, caller, { request, readCsr }, rests);
      // What the CSR says instead of the fields is judged as if it had been sent in them.
      if (Object.keys(planned.asked).length > 0) await judgeValues([() => planned.asked]);
      const { subjectPublicKeyInfo } = planned;
      const unblocked = await requireUnblockedKey(app, caller.mount.id, subjectPublicKeyInfo);
      const holds = [rests.held, unblocked];
      return commitIntermediate(app, caller, request, { ...rests, holds }, planned);
    },
    { app, key: lineOfMount(caller.mount.id) },
  );
}

async function decide(
  app: App,
  caller: Caller,
  { request, readCsr }: { request: IntermediateRequest; readCsr(): Promise<SignedCsr> },
  { context }: IssuerContext,
): Promise<PlannedIntermediate> {
  if (isHeavyRequest(request)) return planIntermediateOnThread(app, caller, request, context);
  const signed = await readCsr();
  const plan = planIntermediate(request, signed, context);
  const { csr, key } = signed;
  const { subjectPublicKeyInfo } = csr;
  await requireSoundKeyOf(app, caller, key, subjectPublicKeyInfo);
  return { plan, key, subjectPublicKeyInfo, asked: askedBy(request, csr, plan) };
}

async function commitIntermediate(
  app: App,
  caller: Caller,
  request: IntermediateRequest,
  { holds, issuer, key, context, sharding }: IssuerContext & { holds: readonly Write[] },
  { plan, ...subject }: PlannedIntermediate,
): Promise<DataResult<SignedCaAnswer>> {
  const mount_id = caller.mount.id;
  const serialNumber = newSerialNumber(app);
  const serial = formatSerial(serialNumber);
  const { notAfter: not_after } = plan.certificate;
  const placed = sharding && (await placeInShard(app, mount_id, sharding, { serial, not_after }));
  // By identity what every certificate of the issuer has is encoded once, wherever the plan was made.
  const tbs = planCertificate(
    { ...plan.certificate, signer: context.issuer, urls: placed?.urls ?? context.issuer.urls },
    { ...subject, serialNumber },
  );
  const der = await signCertificate(
    tbs,
    (algorithm, data) =>
      signInTurn(app, caller, key, () => signWithKey(app, mount_id, key, algorithm, data)),
    MOST_CA_BYTES,
  );
  Object.assign(caller.record.outcome, { serial_number: serial, issuer_id: issuer.id });
  const { names } = plan;
  const row = {
    serial,
    issuer_id: issuer.id,
    role: '',
    subject_cn: names.common_name,
    not_before: tbs.notBefore,
    not_after: tbs.notAfter,
    der,
    clusters: app.config.cluster_name,
  };
  const found_by = [...names.dns, ...names.email, ...names.ip, ...names.uri];
  // Durable before it leaves the process, as every certificate is that can be revoked.
  const stored = insertCertificate(mount_id, row, found_by);
  await app.commit(caller, [...holds, ...(placed?.effects ?? []), ...stored]);
  const facts = { serial_number: serial, expiration: tbs.notAfter };
  return {
    data: encodeSignedCa(der, facts, issuer, request.format),
    warnings: plan.warnings,
  };
}
