import { giveWay } from '../../../access/concurrency/operations.ts';
import { whileConnected } from '../../../access/presence.ts';
import type { App } from '../../../app/app.ts';
import { doFewAtOnce } from '../../../core/fairness/few-at-once.ts';
import type { AccountFacts } from '../../principals/account-facts.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { findResource } from '../../resource/store.ts';
import type { SessionCredential } from '../../sessions/credentials/credential.ts';
import { SECRET_TIMES, type SecretHold } from '../../sessions/credentials/room.ts';
import type { Issued } from '../issuing/issued.ts';
import { issueFromLibrary } from '../issuing/operations.ts';
import { connectorFor } from '../issuing/vault.operations.ts';
import { credentialLibraryDefinition } from '../libraries/operations.ts';
import type { TemplateFacts } from '../libraries/template.ts';
import type { SessionContext } from './session-facts.ts';
import { AT_ONCE, type EncodeSecret, readSource } from './sources.operations.ts';
import type { SourceHead } from './sources.store.ts';

export interface IssuedCredential extends Omit<Issued, 'found' | 'weight'> {
  credential: SessionCredential;
}

/** A few at a time; when one fails, the others are given back before anybody hears of it. */
export async function issueAll(
  app: App,
  caller: BrokerCaller,
  {
    libraries,
    session,
    encode,
    hold,
  }: {
    libraries: readonly SourceHead[];
    session: SessionContext;
    encode: EncodeSecret;
    hold: SecretHold;
  },
): Promise<IssuedCredential[]> {
  const facts = await readFacts(app, caller);
  const connect = connectorFor(app);
  const { done, failed } = await whileConnected(caller, async (requireConnected) => {
    const outcome = await doFewAtOnce(libraries, AT_ONCE, async (library) => {
      await giveWay(app);
      requireConnected();
      const { found, weight, ...issued } = await issueFromLibrary(app, caller, {
        library: await readSource(app, credentialLibraryDefinition, library),
        session,
        facts,
        connect,
      });
      try {
        hold.grow(weight);
        const credential = await encode(found);
        hold.grow(SECRET_TIMES * Buffer.byteLength(credential.secret.raw, 'base64'));
        return { ...issued, credential };
      } catch (error) {
        await issued.giveBack();
        throw error;
      }
    });
    try {
      requireConnected();
      return outcome;
    } catch (reason) {
      return { ...outcome, failed: { reason } };
    }
  });
  if (!failed) return done;
  await giveBack(done);
  throw failed.reason;
}

export async function giveBack(issued: readonly Pick<Issued, 'giveBack'>[]): Promise<void> {
  await doFewAtOnce(issued, AT_ONCE, (one) => one.giveBack());
}

/** What templates can say of whom the session is for. */
async function readFacts(app: App, { who }: BrokerCaller): Promise<TemplateFacts> {
  const [user, account] = await Promise.all([
    findResource(app.db, who.user_id),
    who.account_id === '' ? undefined : findResource(app.db, who.account_id),
  ]);
  const body = (account?.body ?? {}) as AccountFacts & { subject?: string };
  const { login_name = '', full_name = '', email = '', subject = '' } = body;
  return {
    'User.Id': who.user_id,
    'User.Name': user?.name ?? '',
    'User.FullName': full_name,
    'User.Email': email,
    'Account.Id': who.account_id,
    'Account.Name': account?.name ?? '',
    'Account.LoginName': login_name,
    'Account.Subject': subject,
    'Account.Email': email,
  };
}
