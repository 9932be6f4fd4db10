import type { z } from 'zod';
import { signInTurn } from '../../access/concurrency/signatures.operations.ts';
import { retryOnConflict } from '../../access/standing/attempts.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import { formatSerial } from '../../x509/serial.ts';
import { encodeCertificate } from '../certificates/answer.ts';
import { readIssuerContext } from '../issuance/context.operations.ts';
import { requireUnblockedKey } from '../keys/blocked.operations.ts';
import { signCertificate, signWithKey } from '../keys/signing.operations.ts';
import { pemOf } from '../mount-state/issuer.ts';
import { lineOfMount, readMountState } from '../mount-state/operations.ts';
import type { MountState } from '../mount-state/state.ts';
import { planSelfIssuedOnThread, requireSoundKeyOf } from '../planning/operations.ts';
import { isHeavyRequest } from '../planning/task.ts';
import type { IssuingFacts } from '../profile/issuing.ts';
import { planCertificate } from '../profile/plan.ts';
import {
  planSelfIssued,
  type SelfIssuedPlan,
  type SelfIssuedRequest,
} from '../profile/self-issued.ts';
import type { signedSelfIssued } from './answers.ts';

export type SelfIssuedInput = SelfIssuedRequest & { issuer_ref?: string | undefined };

/** Signs the certificate of a CA that signed it itself, so that those who trust the issuer trust it. It is not stored. */
export async function signSelfIssued(
  app: App,
  caller: Caller,
  { issuer_ref = 'default', ...request }: SelfIssuedInput,
): Promise<DataResult<z.output<typeof signedSelfIssued>>> {
  const mount_id = caller.mount.id;
  return retryOnConflict(
    app,
    caller,
    async () => {
      const { held, issuer, key, context } = await readIssuerContext(app, caller, issuer_ref);
      const mountState = await readMountState(app, mount_id);
      const { certificate, warnings, ...parts } = await decide(
        app,
        caller,
        request,
        context.issuer,
      );
      const unblocked = await requireUnblockedKey(app, mount_id, parts.subjectPublicKeyInfo);
      const tbs = planCertificate(
        { ...certificate, signer: context.issuer, urls: context.issuer.urls },
        parts,
      );
      const der = await signCertificate(tbs, (algorithm, data) =>
        signInTurn(app, caller, key, () => signWithKey(app, mount_id, key, algorithm, data)),
      );
      const serial_number = formatSerial(parts.serialNumber);
      Object.assign(caller.record.outcome, { serial_number, issuer_id: issuer.id });
      await app.commit(caller, [held, unblocked]);
      return {
        data: { certificate: encodeCertificate(der, 'pem'), issuing_ca: pemOf(issuer.certificate) },
        warnings: [...warnings, ...warnOfSerial(mountState, serial_number)],
      };
    },
    { app, key: lineOfMount(mount_id) },
  );
}

/** It keeps its serial number, by which it cannot be revoked apart from one that the mount has. @see P-337 */
function warnOfSerial({ issuers }: MountState, serial: string): string[] {
  if (!issuers.values().some(({ certificate }) => certificate.serial === serial)) return [];
  return [
    'An issuer of this mount has the serial number of the certificate, which is kept: to revoke the certificate apart from that issuer, import it and revoke it as an issuer.',
  ];
}

async function decide(
  app: App,
  caller: Caller,
  request: SelfIssuedRequest,
  issuer: IssuingFacts,
): Promise<SelfIssuedPlan> {
  if (isHeavyRequest(request)) return planSelfIssuedOnThread(app, caller, request, issuer);
  const plan = planSelfIssued(request, issuer);
  await requireSoundKeyOf(app, caller, plan.key, plan.subjectPublicKeyInfo);
  return plan;
}
