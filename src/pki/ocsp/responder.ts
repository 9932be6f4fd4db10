import type { Issuer } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';

/** An issuer that might answer an OCSP request. */
export interface Responder {
  issuer: Issuer;
  key: Key;
  /** Name and key are those that the request asks about. */
  matches: boolean;
}

/**
 * Chooses who answers: a matching issuer that may sign answers; when none
 * matches at all, the default issuer says that it does not know the certificate.
 *
 * @returns undefined when nobody may answer: the request is unauthorized
 */
export function chooseResponder(
  candidates: readonly Responder[],
  default_issuer: string | undefined,
): Responder | undefined {
  const maySign = ({ issuer }: Responder): boolean =>
    issuer.settings.usage.includes('ocsp-signing');
  const matching = candidates.filter(({ matches }) => matches);
  if (matching.length > 0) return matching.find(maySign);
  return candidates.find((one) => one.issuer.id === default_issuer && maySign(one));
}
