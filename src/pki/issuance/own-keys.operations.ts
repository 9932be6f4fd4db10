import type { KeyObject } from 'node:crypto';
import { signInTurn } from '../../access/concurrency/signatures.operations.ts';
import { systemCaller } from '../../access/system-caller.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import { formatSerial } from '../../x509/serial.ts';
import { generateKey } from '../keys/generation.operations.ts';
import { signCertificate, signWithKey } from '../keys/signing.operations.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import { NO_URLS } from '../mount-state/urls.ts';
import { describeIssuing } from '../profile/issuing.ts';
import { type CertificatePlan, planCertificate, type Signer } from '../profile/plan.ts';
import { newSerialNumber } from '../roots/operations.ts';

/** A key that is nowhere but in this process, and its certificate by an issuer. */
export interface OwnKey {
  description: KeyDescription;
  private_key: KeyObject;
  /** DER. */
  certificate: Uint8Array;
  /** DER of the Name. */
  subject: Uint8Array;
}

/**
 * Makes a key of the server's own, and has an issuer certify it. That is recorded; the certificate is kept nowhere.
 *
 * @param work names it in audit records, e.g. `ocsp/responder`
 */
export async function certifyOwnKey(
  app: App,
  caller: Caller,
  { issuer, key }: { issuer: Issuer; key: Key },
  {
    wanted,
    plan,
    work,
  }: { wanted: KeyDescription; plan: (signer: Signer) => CertificatePlan; work: string },
): Promise<OwnKey> {
  const fresh = await generateKey(app, caller, wanted);
  const { private_key, public_key, ...description } = fresh;
  const serialNumber = newSerialNumber(app);
  const tbs = planCertificate(plan(describeIssuing(issuer, key, NO_URLS)), {
    subjectPublicKeyInfo: public_key,
    key: description,
    serialNumber,
  });
  const certificate = await signCertificate(tbs, (algorithm, data) =>
    signInTurn(app, caller, key, () => signWithKey(app, caller.mount.id, key, algorithm, data)),
  );
  const own = systemCaller(app.newId(), work);
  const serial_number = formatSerial(serialNumber);
  Object.assign(own.record.outcome, { serial_number, issuer_id: issuer.id });
  await app.commit({ ...own, mount: caller.mount }, []);
  return { description, private_key, certificate, subject: tbs.subject };
}
