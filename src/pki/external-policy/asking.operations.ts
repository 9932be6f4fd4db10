import { tellEntity, tellGroups } from '../../access/identity/told-person.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { effectiveLeaseTtls } from '../../app/mount.ts';
import { formatDuration } from '../../core/durations.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { evaluate } from '../../core/jmespath/evaluation.ts';
import { parseExpression } from '../../core/jmespath/parser.ts';
import { encodePem } from '../../core/pem.ts';
import { readMountOf } from '../issuance/context.operations.ts';
import { pemOf } from '../mount-state/issuer.ts';
import { chooseUrls, readMountState } from '../mount-state/operations.ts';
import { findIssuer, resolveIssuer } from '../mount-state/state.ts';
import { NO_URLS } from '../mount-state/urls.ts';
import type { PolicyAnswer } from './answer.ts';
import { askService } from './client.ts';
import { encodePolicyRequest, type IssuanceMode, type ToldIdentity } from './request.ts';
import { noteAnswer, openClientKey, readPolicy, type StoredPolicy } from './settings.operations.ts';
import type { PolicySettings } from './settings.ts';

/** What a caller asks an external policy service for. */
export interface PolicyQuestion {
  mode: IssuanceMode;
  /** Of the path; empty for none. */
  policy: string;
  /** Of the path; without it the default issuer is meant. */
  issuer_ref: string | undefined;
  /** All that was sent, with defaults of what is understood here, and with the request for the certificate. */
  user: Readonly<Record<string, unknown>>;
}

/** What a service has said to a question, by which settings it was asked. */
export interface Decided {
  answer: PolicyAnswer;
  policy: StoredPolicy;
}

/** @throws Failure `invalid` where the paths do not work */
export async function requirePolicy(app: App, { mount }: Caller): Promise<StoredPolicy> {
  const policy = await readPolicy(app, mount.id);
  if (policy.settings.enabled) return policy;
  throw invalid('external policy is not enabled on this mount: see config/external-policy');
}

/**
 * Asks the service of the mount, once.
 *
 * @throws Failure `invalid` with the words of a service that refuses; as `askService` otherwise
 */
export async function askPolicy(
  app: App,
  caller: Caller,
  policy: StoredPolicy,
  question: PolicyQuestion,
): Promise<PolicyAnswer> {
  const { settings, version } = policy;
  const request_uuid = app.newId();
  const answer = await askService(app, caller, settings, async () => ({
    body: await describeQuestion(app, caller, settings, { ...question, request_uuid }),
    client_key: clientKeyOf(app, caller, policy),
  }));
  if (answer.request_uuid !== request_uuid) throw misanswered('it answered another request');
  noteAnswer(app, caller.mount.id, version);
  if (answer.certificate !== '') return answer;
  if (answer.error === '') throw misanswered('its answer has neither a certificate nor an error');
  throw invalid(`the external policy service refuses the request: ${answer.error}`, {
    warnings: [...answer.warnings],
    recorded: 'the external policy service refuses the request',
  });
}

const misanswered = (what: string): Failure =>
  new Failure('unavailable', `the external policy service does not answer as it has to: ${what}`);

function clientKeyOf(app: App, { mount }: Caller, policy: StoredPolicy): string {
  const der = openClientKey(app, mount.id, policy);
  if (!der) return '';
  const pem = encodePem('PRIVATE KEY', der);
  der.fill(0);
  return pem;
}

async function describeQuestion(
  app: App,
  caller: Caller,
  settings: PolicySettings,
  { mode, policy, issuer_ref, user, request_uuid }: PolicyQuestion & { request_uuid: string },
): Promise<string> {
  const mountState = await readMountState(app, caller.mount.id);
  const mount = await readMountOf(app, caller);
  // Without a default issuer the service has to name one.
  const issuer =
    issuer_ref === undefined
      ? findIssuer(mountState, 'default')
      : resolveIssuer(mountState, issuer_ref);
  const { default_ttl, max_ttl } = effectiveLeaseTtls(mount.config);
  return encodePolicyRequest({
    request_uuid,
    mode,
    policy_name: policy,
    mount: mount.path,
    user,
    identity: await tellIdentity(app, caller, settings),
    issuer: issuer && { name: issuer.name, id: issuer.id, certificate: pemOf(issuer.certificate) },
    urls: issuer ? chooseUrls(mountState, issuer) : NO_URLS,
    leaf_not_after_behavior: issuer?.settings.leaf_not_after_behavior ?? '',
    mount_default_ttl: formatDuration(default_ttl),
    mount_max_ttl: formatDuration(max_ttl),
  });
}

/** @see P-380 */
async function tellIdentity(
  app: App,
  { token }: Caller,
  { entity_jmespath, group_jmespath }: PolicySettings,
): Promise<ToldIdentity | undefined> {
  const entity_id = token?.entity_id ?? '';
  if (entity_id === '') return undefined;
  const told: ToldIdentity = { entity_id };
  if (entity_jmespath !== '') {
    told.entity = choose('entity_jmespath', entity_jmespath, await tellEntity(app, entity_id));
  }
  if (group_jmespath !== '') {
    told.groups = choose('group_jmespath', group_jmespath, await tellGroups(app, entity_id));
  }
  return told;
}

function choose(field: string, expression: string, known: unknown): unknown {
  try {
    return evaluate(parseExpression(expression), known ?? null);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw invalid(`${field} of config/external-policy fails: ${error.message}`);
  }
}
