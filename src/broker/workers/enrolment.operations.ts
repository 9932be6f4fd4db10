import type { App } from '../../app/app.ts';
import { decodeBase58 } from '../../core/base58.ts';
import { Failure } from '../../core/failure.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { describeResource } from '../resource/answers.operations.ts';
import type { BrokerCaller } from '../resource/caller.ts';
import { checkNew, FieldErrors, IN_REQUEST } from '../resource/field-errors.ts';
import type { AnswerOf, ItemOf } from '../resource/handler.ts';
import { planResource } from '../resource/operations.ts';
import type { Scope } from '../resource/resource.ts';
import type { BoundaryRequest } from '../resource/route.ts';
import { insertResource } from '../resource/store.ts';
import { ACTIVATION_MS, ACTIVATION_RANDOMNESS, formatActivationToken } from './activation.ts';
import { deleteActivationsBefore, insertActivation } from './enrolment.store.ts';
import { type WorkerKind, workerDefinition } from './operations.ts';

type Flow = 'controller-led' | 'worker-led';

/** What is wrong with a new worker's fields. */
export function checkEnrolment(
  flow: Flow,
  { item, query }: BoundaryRequest<ItemOf<WorkerKind>>,
): void {
  const errors = new FieldErrors();
  checkNew(item, errors);
  workerDefinition.checkNew(item, 'worker', errors, query);
  const token = item.worker_generated_auth_token;
  if (flow === 'worker-led') {
    if (!token) errors.add('worker_generated_auth_token', 'Cannot be empty.');
    else if (!decodeBase58(token)) {
      errors.add('worker_generated_auth_token', 'This is not what a worker prints as its token.');
    }
  } else if (token) {
    errors.add(
      'worker_generated_auth_token',
      'Worker-generated auth tokens are not used with the controller-led creation flow.',
    );
  }
  errors.refuse(IN_REQUEST);
}

/** Makes a worker that is expected, and the token it will come with; shown this once. */
export async function expectWorker(
  app: App,
  caller: BrokerCaller,
  { item, scope }: { item: ItemOf<WorkerKind>; scope: Scope },
): Promise<AnswerOf<WorkerKind>> {
  const { resource, effects } = await planResource(app, caller, workerDefinition, {
    item,
    subtype: 'worker',
    wanted: undefined,
    container: { scope, parent: undefined },
  });
  const token = formatActivationToken(app.randomBytes(ACTIVATION_RANDOMNESS));
  const now = app.now();
  caller.record.outcome.resource_id = resource.id;
  await app.commit(caller, [
    insertResource(resource),
    ...effects,
    deleteActivationsBefore(now),
    insertActivation({
      token_hmac: app.barrier.hmac('token', token).toString('hex'),
      worker_id: resource.id,
      expires_ms: now + ACTIVATION_MS,
    }),
    bumpConfigVersion(),
  ]);
  const described = await describeResource(app, caller, workerDefinition, resource);
  return { ...described, controller_generated_activation_token: token };
}

/** Says that workers which stand alone cannot be enrolled by their own token yet. */
export async function refuseWorkerLed(): Promise<never> {
  throw new Failure(
    'unsupported',
    'Workers that stand alone are not supported by this version: sessions are carried by the servers themselves.',
  );
}
