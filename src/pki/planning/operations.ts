import { hash } from 'node:crypto';
import { planInTurn } from '../../access/concurrency/operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import { Failure } from '../../core/failure.ts';
import { OnDemandThread } from '../../core/on-demand.pool.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import { encodePkcs12, type Pkcs12Content } from '../../x509/pkcs12.ts';
import { requireSoundKey } from '../profile/csr-rules.ts';
import type {
  IntermediateContext,
  IntermediateCsrPlan,
  IntermediateCsrRequest,
  IntermediateRequest,
} from '../profile/intermediate.ts';
import type { IssuingFacts } from '../profile/issuing.ts';
import type { PlannedRoot, WantedRoot } from '../profile/root.ts';
import type { SelfIssuedPlan, SelfIssuedRequest } from '../profile/self-issued.ts';
import type { AdmittedName } from '../roles/admitting-rules.ts';
import {
  type ExplainTask,
  type FromPlanThread,
  type LeafTask,
  type Planned,
  type PlannedIntermediate,
  type PlannedLeaf,
  type PlanTask,
  type ToPlanThread,
  weighTask,
} from './task.ts';

/** Keys that were found to be sound and are remembered. */
const MOST_KEYS = 4096;

/**
 * Decides on a certificate on a thread of its own.
 *
 * @throws Failure as deciding does; `rate_limited` when too many wait, of the caller's address or
 *   altogether; `unavailable` when the thread is ended, or deciding takes too long
 */
export async function planLeafOnThread(
  app: App,
  caller: Caller,
  task: LeafTask,
): Promise<PlannedLeaf> {
  const planned = await runInTurn(app, caller, task);
  if (planned.of !== 'leaf') throw new Error(`the planning thread planned a ${planned.of}`);
  return planned;
}

/** {@link planLeafOnThread} for a certificate that signs itself. */
export async function planRootOnThread(
  app: App,
  caller: Caller,
  wanted: WantedRoot,
): Promise<PlannedRoot> {
  const planned = await runInTurn(app, caller, { kind: 'root', wanted });
  if (planned.of !== 'root') throw new Error(`the planning thread planned a ${planned.of}`);
  return planned;
}

/** {@link planLeafOnThread} for the request for an intermediate. */
export async function planCsrOnThread(
  app: App,
  caller: Caller,
  request: IntermediateCsrRequest,
): Promise<IntermediateCsrPlan> {
  const planned = await runInTurn(app, caller, { kind: 'csr', request });
  if (planned.of !== 'csr') throw new Error(`the planning thread planned a ${planned.of}`);
  return planned;
}

/** {@link planLeafOnThread} for an intermediate. */
export async function planIntermediateOnThread(
  app: App,
  caller: Caller,
  request: IntermediateRequest,
  context: IntermediateContext,
): Promise<PlannedIntermediate> {
  const planned = await runInTurn(app, caller, { kind: 'intermediate', request, context });
  if (planned.of !== 'intermediate') throw new Error(`the planning thread planned a ${planned.of}`);
  return planned;
}

/** {@link planLeafOnThread} for a certificate that another authority had signed itself. */
export async function planSelfIssuedOnThread(
  app: App,
  caller: Caller,
  request: SelfIssuedRequest,
  issuer: IssuingFacts,
): Promise<SelfIssuedPlan> {
  const planned = await runInTurn(app, caller, { kind: 'self-issued', request, issuer });
  if (planned.of !== 'self-issued') throw new Error(`the planning thread planned a ${planned.of}`);
  return planned;
}

/** Tells by which of a role's rules names are let in. @throws Failure as {@link planLeafOnThread} */
export async function explainOnThread(
  app: App,
  caller: Caller,
  task: Omit<ExplainTask, 'kind'>,
): Promise<AdmittedName[]> {
  const planned = await runInTurn(app, caller, { kind: 'explain', ...task });
  if (planned.of !== 'explained') throw new Error(`the planning thread planned a ${planned.of}`);
  return planned.names;
}

function runInTurn(app: App, caller: Caller, task: PlanTask): Promise<Planned> {
  return planInTurn(app, caller, weighTask(task), () => threadOf(app).run({ task }));
}

/** What a file under a password takes of a core beside other work on requests, in units of an RSA key's. */
const FILE_WEIGHT = 64;

/** It takes as long as a password is hard to guess: when it is the caller's turn, and the most of it on the thread. @see P-342 */
export function encodePkcs12InTurn(
  app: App,
  caller: Caller,
  content: Pkcs12Content,
): Promise<Uint8Array> {
  const surroundings = {
    randomBytes: (length: number) => app.randomBytes(length),
    deriveMacKey: async (password: string, salt: Uint8Array): Promise<Uint8Array> => {
      const planned = await threadOf(app).run({ task: { kind: 'mac', password, salt } });
      if (planned.of !== 'mac') throw new Error(`the planning thread planned a ${planned.of}`);
      return planned.key;
    },
  };
  return planInTurn(app, caller, FILE_WEIGHT, () => encodePkcs12(content, surroundings));
}

const soundKeys = perApp(() => new BoundedMap<true>(MOST_KEYS));

/**
 * Refuses a key whose private half could be found. An RSA key takes calculations of a millisecond to
 * some tenths of a second: they are made on the thread, and once for a key that is certified again.
 *
 * @param subjectPublicKeyInfo DER
 * @throws Failure `invalid`; otherwise as {@link planLeafOnThread}
 */
export function requireSoundKeyOf(
  app: App,
  caller: Caller,
  key: KeyDescription,
  subjectPublicKeyInfo: Uint8Array,
): void | Promise<void> {
  if (key.key_type === 'rsa') return requireSoundRsaKey(app, caller, subjectPublicKeyInfo);
  requireSoundKey(subjectPublicKeyInfo);
}

async function requireSoundRsaKey(
  app: App,
  caller: Caller,
  subjectPublicKeyInfo: Uint8Array,
): Promise<void> {
  const known = soundKeys(app);
  const digest = hash('sha256', subjectPublicKeyInfo, 'base64');
  if (known.has(digest)) return;
  await runInTurn(app, caller, { kind: 'key', subjectPublicKeyInfo });
  known.set(digest, true);
}

/** A task takes about a second of a core at most. */
const DEADLINE_MS = 5_000;

const threadOf = perApp((app) => {
  const thread = new OnDemandThread<Omit<ToPlanThread, 'id'>, FromPlanThread, Planned>({
    name: 'planning',
    beside: import.meta.url,
    log: app.log,
    undone: 'no certificate was made',
    deadline_ms: DEADLINE_MS,
    read: plannedIn,
  });
  app.onClose(() => thread.stop());
  return thread;
});

function plannedIn(answer: FromPlanThread): Planned {
  switch (answer.type) {
    case 'planned':
      return answer.planned;
    case 'refused':
      throw new Failure(answer.kind, answer.message, answer.detail);
    case 'failed':
      throw new Error(answer.message);
  }
}
