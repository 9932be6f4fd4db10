import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import type { Certificate } from '../../x509/certificate.ts';
import { certifyOwnKey, type OwnKey } from '../issuance/own-keys.operations.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import { chooseDelegateKey, planDelegate, planDelegateValidity } from './delegate.ts';

/** A responder that answers for an issuer. Unix seconds. */
export interface Delegate extends OwnKey {
  not_before: number;
  not_after: number;
  renewed_at: number;
}

interface KnownDelegate {
  /** Of whose certificate and key it is: another one needs another responder. */
  issuer: Certificate;
  key_id: string;
  delegate: Promise<Delegate>;
  isRenewing: boolean;
}

/** Issuers that have a responder; of more, those that were not asked about lately get another one. */
const MOST_DELEGATES = 4_096;

const delegatesOf = perApp((app) => {
  const delegates = new BoundedMap<KnownDelegate>(MOST_DELEGATES);
  app.barrier.onSeal(() => delegates.clear());
  return delegates;
});

interface AnsweredFor {
  issuer: Issuer;
  key: Key;
  /** Seconds that an answer is good for. */
  ocsp_expiry: number;
  /** Unix seconds. */
  now: number;
}

/** The responder of an issuer; its certificate is made when it is asked for, and again before it ends. */
export async function requireDelegate(
  app: App,
  caller: Caller,
  asked: AnsweredFor,
): Promise<Delegate> {
  const { issuer, key, now } = asked;
  const delegates = delegatesOf(app);
  const place = `${caller.mount.id}/${issuer.id}`;
  const begin = (): Promise<Delegate> => {
    const { certificate } = issuer;
    const delegate = makeDelegate(app, caller, asked);
    const known = { issuer: certificate, key_id: key.id, delegate, isRenewing: false };
    delegates.set(place, known);
    delegate.catch(() => {
      if (delegates.get(place) === known) delegates.delete(place);
    });
    return delegate;
  };
  const known = delegates.get(place);
  if (known?.issuer !== issuer.certificate || known.key_id !== key.id) return begin();
  const delegate = await known.delegate;
  // The clock may have been set back.
  if (now >= delegate.not_after || now < delegate.not_before) return begin();
  if (now >= delegate.renewed_at && !known.isRenewing) {
    known.isRenewing = true;
    // It answers as well as the next one, which must not be waited for.
    makeDelegate(app, caller, asked)
      .then((next) => {
        const fresh = { ...known, delegate: Promise.resolve(next), isRenewing: false };
        if (delegates.get(place) === known) delegates.set(place, fresh);
      })
      .catch((err: unknown) => {
        known.isRenewing = false;
        if (!app.barrier.sealed) app.log.warn({ err }, 'an OCSP responder was not renewed');
      });
  }
  return delegate;
}

async function makeDelegate(
  app: App,
  caller: Caller,
  { issuer, key, ocsp_expiry, now }: AnsweredFor,
): Promise<Delegate> {
  const validity = planDelegateValidity(now, ocsp_expiry, issuer.certificate.notAfter);
  const own = await certifyOwnKey(
    app,
    caller,
    { issuer, key },
    {
      wanted: chooseDelegateKey(key),
      plan: (signer) => planDelegate(signer, issuer.id, validity),
      work: 'ocsp/responder',
    },
  );
  return { ...own, ...validity };
}
