import { insertLease } from '../../../access/leases/store.ts';
import type { App } from '../../../app/app.ts';
import type { Lease } from '../../../app/lease.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import type { FoundSecret } from '../../sessions/credentials/credential.ts';
import { type VaultAnswer, type VaultConnection, VaultFault } from '../../vault/client/answer.ts';
import { askVault, type VaultRequest } from '../../vault/client/client.ts';
import { SECRET } from '../../vault/client/coming.ts';
import { madeTokenOf } from '../../vault/client/made.ts';
import { textsOf, textsOfPath } from '../../vault/client/repeated.ts';
import { macOf, openConnection, requireToken } from '../../vault/tokens/operations.ts';
import { holdCurrentToken } from '../../vault/tokens/store.ts';
import { fillBody, fillPath } from '../libraries/issue-request.ts';
import { type MappingVerdict, mapLdapSecret, mapSecret } from '../libraries/mapping.ts';
import { giveLeaseBack, giveTokenBack } from './giving-back.operations.ts';
import {
  type Connect,
  type Connected,
  type Issued,
  type IssueRequest,
  sourceOf,
} from './issued.ts';
import { leaseOf } from './leases.operations.ts';
import {
  askForSshCertificate,
  newKeyPair,
  type Reading,
  type Secret,
  type SshCertificateRequest,
} from './ssh-certificate.operations.ts';

/** For the libraries of one session: those of one store share what leads to its server, until the session is durable. */
export function connectorFor(app: App): Connect {
  const known = new Map<string, Promise<Connected>>();
  const open = async (store_id: string): Promise<Connected> => {
    const token = await requireToken(app, store_id);
    return { token_id: token.id, connection: openConnection(app, token) };
  };
  return (store_id) => {
    const connected = known.get(store_id) ?? open(store_id);
    known.set(store_id, connected);
    return connected;
  };
}

export async function issueFromVault(
  app: App,
  caller: BrokerCaller,
  request: IssueRequest,
): Promise<Issued> {
  const { library } = request;
  const { token_id, connection } = await request.connect(library.container_id);
  const { namespace } = connection;
  const asked = { token_id, token_mac: macOf(app, connection), namespace };
  const source_id = library.id;
  const { answer, read } = await askFor(app, connection, {
    ...request,
    makePair: (type, bits) => newKeyPair(app, caller, type, bits),
    onGone: caller.onGone,
  }).catch(async (error: unknown) => {
    // An answer that comes too late, too long or broken has made a credential all the same.
    if (error instanceof VaultFault && error.made) {
      const lease = leaseOf(app, request, asked, error.made);
      await giverOf(app, caller, { source_id, connection, lease })();
    }
    throw error;
  });
  const lease = leaseOf(app, request, asked, answer);
  const token = madeTokenOf(answer.body);
  const giveBack = giverOf(app, caller, { source_id, connection, lease, token });
  try {
    const found = { ...requireMapped(read(answer.data)), source: sourceOf(library) };
    const recorded = { source_id, lease_id: lease?.id };
    // Also of what has no lease: asked with an earlier token, or one of another server, it is asked for anew.
    const effects = [holdCurrentToken(token_id), ...(lease ? [insertLease(lease)] : [])];
    return { found, weight: answer.weight, recorded, effects, giveBack };
  } catch (error) {
    await giveBack();
    throw error;
  }
}

/**
 * Gives back what was made. It is kept until the session is durable, and so holds nothing of the library, nor of
 * the answer.
 */
function giverOf(
  app: App,
  caller: BrokerCaller,
  {
    source_id,
    connection,
    lease,
    token,
  }: {
    source_id: string;
    connection: VaultConnection;
    lease: Lease | undefined;
    token?: string | undefined;
  },
): Issued['giveBack'] {
  return async () => {
    if (lease) {
      const became = await giveLeaseBack(app, connection, lease);
      noteGivenBack(caller, { source_id, lease_id: lease.id, lease: became });
    }
    if (token === undefined) return;
    const became = await giveTokenBack(app, connection, { token, library_id: source_id });
    if (became) noteGivenBack(caller, { source_id, token: became });
  };
}

/** What was made, and was given back, belongs into the record of the request, also where that is refused. */
function noteGivenBack({ record }: BrokerCaller, one: Readonly<Record<string, string>>): void {
  const { given_back } = record.outcome;
  record.outcome.given_back = [...(Array.isArray(given_back) ? given_back : []), one];
}

/** @throws VaultFault `malformed` */
function requireMapped(reading: Reading): Pick<FoundSecret, 'secret' | 'credential'> {
  if (reading.mapped) return reading.found;
  throw new VaultFault('malformed', `the secret has no "${reading.missing}"`);
}

/** Asks for what a library describes; `read` makes a credential of the answer. */
async function askFor(
  app: App,
  connection: VaultConnection,
  { library, facts, makePair, onGone }: SshCertificateRequest,
): Promise<{ answer: VaultAnswer; read: (secret: Secret) => Reading }> {
  const { attributes, credential_type, overrides } = library.body;
  if (library.subtype === 'vault-ssh-certificate') {
    return askForSshCertificate(app, connection, { attributes, facts, makePair, onGone });
  }
  const { path = '', http_method = 'GET', http_request_body } = attributes;
  const filled = fillPath(path, facts);
  const body = http_method === 'POST' ? fillBody(http_request_body ?? '{}', facts) : undefined;
  const asked: VaultRequest = {
    method: http_method === 'POST' ? 'POST' : 'GET',
    path: filled,
    bounds: SECRET,
    onGone,
    hides: () => [...textsOfPath(filled), ...textsOf(body ?? '{}')],
    ...(body === undefined ? {} : { body }),
  };
  const answer = await askVault(app, connection, asked);
  const map = (secret: NonNullable<Secret>): MappingVerdict =>
    library.subtype === 'vault-ldap'
      ? mapLdapSecret(secret)
      : mapSecret(credential_type, overrides, secret);
  return {
    answer,
    read(secret) {
      if (!secret) return { mapped: false, missing: 'data' };
      if (credential_type === '') return { mapped: true, found: { secret, credential: undefined } };
      const verdict = map(secret);
      return verdict.mapped
        ? { mapped: true, found: { secret, credential: verdict.credential } }
        : verdict;
    },
  };
}
