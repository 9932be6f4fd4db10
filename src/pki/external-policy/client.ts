import { askerOf } from '../../access/concurrency/operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { sealedThread } from '../../app/sealed-thread.pool.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { Connections } from '../../core/fairness/connections.ts';
import { parsePem } from '../../core/pem.ts';
import { type PolicyAnswer, PolicyFault } from './answer.ts';
import type { PolicySettings } from './settings.ts';
import type { Order } from './talk.client.ts';
import type { FromPolicyThread } from './thread.ts';

// Whoever waits waits no longer than the slowest service may take for one answer.
const WAITING = { waiting: 512, waiting_each: 128, longest_wait_ms: 60_000 };

const connectionsOf = perApp(
  () =>
    new Connections(
      {
        store: { at_once: 8, at_once_each: 4, at_once_site: 6, ...WAITING, waiting: 256 },
        all: {
          fresh: { at_once: 8, at_once_site: 4, ...WAITING },
          quick: { at_once: 16, at_once_site: 8, ...WAITING },
          slow: { at_once: 16, at_once_site: 8, ...WAITING },
          overdue: 16,
          slow_ms: 2_000,
        },
      },
      () => new PolicyFault('busy', 'too many requests wait for it'),
    ),
);

/** What is sent, and as whom. */
interface Message {
  /** JSON text. */
  body: string;
  /** PKCS #8 in PEM; empty without a client certificate. */
  client_key: string;
}

/** Characters of a message: a body, and what is told of whoever sent it. */
const LONGEST_MESSAGE = 2 << 20;

/**
 * Asks the service of a mount.
 *
 * @param prepare called when it is the caller's turn: whoever waits holds nothing of it
 * @throws Failure `rate_limited` when too many ask, `unavailable` for everything else but an answer that can be read
 */
export async function askService(
  app: App,
  caller: Caller,
  settings: PolicySettings,
  prepare: () => Promise<Message>,
): Promise<PolicyAnswer> {
  const { host } = new URL(settings.external_service_url);
  const talk = async (): Promise<PolicyAnswer> =>
    talkOnThread(app, orderOf(app, settings, await prepare()));
  const take = () => connectionsOf(app).take(host, askerOf(caller), talk);
  try {
    return await (caller.aside ? caller.aside(take) : take());
  } catch (error) {
    if (!(error instanceof PolicyFault)) throw error;
    throw refusalOf(error);
  }
}

/** @throws Failure `invalid` for a message that is too long */
function orderOf(app: App, settings: PolicySettings, { body, client_key }: Message): Order {
  if (body.length > LONGEST_MESSAGE) {
    throw invalid(
      `the message to the external policy service would have ${body.length} characters, at most ${LONGEST_MESSAGE} are sent`,
    );
  }
  const { policy_services, listen, proxy_listen } = app.config;
  return {
    url: settings.external_service_url,
    body,
    timeout_ms: settings.timeout * 1000,
    trusted_ca: settings.trusted_ca,
    trusted_leaves: leavesOf(settings),
    client_certificates: settings.vault_client_cert_bundle,
    client_key,
    reach: policy_services,
    listening: [listen.host, proxy_listen.host],
  };
}

const leavesOf = ({ trusted_leaf_certificate_bundle }: PolicySettings): string[] =>
  parsePem(trusted_leaf_certificate_bundle).map(({ der }) => Buffer.from(der).toString('base64'));

const WHAT = {
  barred: 'must not be asked',
  unreachable: 'cannot be reached',
  untrusted: 'is not trusted',
  late: 'is too slow',
  status: 'does not answer as it has to',
  malformed: 'does not answer as it has to',
  busy: 'is asked too often',
} as const;

function refusalOf({ kind, message }: PolicyFault): Failure {
  const because = `the external policy service ${WHAT[kind]}: ${message}`;
  return kind === 'busy'
    ? new Failure('rate_limited', because, { retry_after: 5 })
    : new Failure('unavailable', because);
}

const askOnThread = sealedThread<Order, FromPolicyThread, PolicyAnswer>({
  name: 'external-policy',
  beside: import.meta.url,
  undone: 'it gave no answer',
  read: saidIn,
});

async function talkOnThread(app: App, order: Order): Promise<PolicyAnswer> {
  try {
    return await askOnThread(app, order);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new PolicyFault('unreachable', error.message);
  }
}

function saidIn(answer: FromPolicyThread): PolicyAnswer {
  switch (answer.type) {
    case 'said':
      return answer.answer;
    case 'fault':
      throw new PolicyFault(answer.kind, answer.message);
    case 'failed':
      throw new Error(answer.message);
  }
}
