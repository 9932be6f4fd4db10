import { callerTold, type ToldCaller, toldOf } from '../../access/system-caller.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { inOnePlace, oneForAll } from '../../app/one-for-all.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import { Failure } from '../../core/failure.ts';
import type { Certificate } from '../../x509/certificate.ts';
import { certifyOwnKey, type OwnKey } from '../issuance/own-keys.operations.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import type { Key } from '../mount-state/key.ts';
import { readMountState } from '../mount-state/operations.ts';
import {
  chooseDelegateKey,
  chooseDelegateSubject,
  planDelegate,
  planDelegateValidity,
} from './delegate.ts';

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
  /** DER of the Name: once what is above the issuer is known, it may have to be another. */
  subject: Uint8Array;
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
  /** Of the responder, DER of the Name. */
  subject: Uint8Array;
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
  const { issuer, key, subject, now } = asked;
  const delegates = delegatesOf(app);
  const place = `${caller.mount.id}/${issuer.id}`;
  const begin = (): Promise<Delegate> => {
    const { certificate } = issuer;
    const delegate = makeDelegate(app, caller, asked);
    const known = { issuer: certificate, key_id: key.id, subject, delegate, isRenewing: false };
    delegates.set(place, known);
    delegate.catch(() => {
      if (delegates.get(place) === known) delegates.delete(place);
    });
    return delegate;
  };
  const known = delegates.get(place);
  if (!known || !isFor(known, asked)) return begin();
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

const isFor = (known: KnownDelegate, { issuer, key, subject }: AnsweredFor): boolean =>
  known.issuer === issuer.certificate &&
  known.key_id === key.id &&
  Buffer.compare(known.subject, subject) === 0;

/** Makes one, or, on a thread that answers, takes the one that all have. */
function makeDelegate(app: App, caller: Caller, asked: AnsweredFor): Promise<Delegate> {
  if (!oneForAll(app).ask) return certifyDelegate(app, caller, asked);
  const { issuer, ocsp_expiry, now } = asked;
  return takeInOnePlace(app, { caller: toldOf(caller), issuer_id: issuer.id, ocsp_expiry, now });
}

/** An issuer that another thread answers for. */
interface ToldIssuer extends Pick<AnsweredFor, 'ocsp_expiry' | 'now'> {
  caller: ToldCaller;
  issuer_id: string;
}

const WORK = 'ocsp/responder';

const takeInOnePlace = inOnePlace(
  'pki/ocsp/responder',
  async (app, { caller: told, issuer_id, ocsp_expiry, now }: ToldIssuer) => {
    const caller = callerTold(app.newId(), WORK, told);
    const { issuers, keys } = await readMountState(app, caller.mount.id);
    const issuer = issuers.get(issuer_id);
    const key = issuer && keys.get(issuer.key_id);
    const subject = issuer && chooseDelegateSubject(issuer);
    if (!key || !subject) throw new Failure('unavailable', 'the issuer has changed meanwhile');
    return requireDelegate(app, caller, { issuer, key, subject, ocsp_expiry, now });
  },
);

async function certifyDelegate(
  app: App,
  caller: Caller,
  { issuer, key, subject, ocsp_expiry, now }: AnsweredFor,
): Promise<Delegate> {
  const validity = planDelegateValidity(now, ocsp_expiry, issuer.certificate.notAfter);
  const own = await certifyOwnKey(
    app,
    caller,
    { issuer, key },
    {
      wanted: chooseDelegateKey(key),
      plan: (signer) => planDelegate(signer, subject, validity),
      work: WORK,
    },
  );
  return { ...own, ...validity };
}
