import { z } from 'zod';
import type { App } from '../../app/app.ts';
import { recordedAs } from '../../core/recorded-shape.ts';
import type { BrokerCaller } from '../resource/caller.ts';
import { commonFields } from '../resource/common-fields.ts';
import { IN_REQUEST, refuseField } from '../resource/field-errors.ts';
import { globalAccess } from '../resource/location.operations.ts';
import { type AnyBoundaryRoute, boundaryRoute } from '../resource/route.ts';
import { listRoute, recordedOf, shownSchema, standardRoutes } from '../resource/routes.ts';
import { linkRoutes } from '../resource/verbs.routes.ts';
import { admitWorker, checkEnrolment, expectWorker } from './enrolment.operations.ts';
import { changeTags, checkWorkerList, listAllWorkers, workerDefinition } from './operations.ts';
import {
  readWorkerAuthority,
  reinitializeWorkerAuthority,
  type WorkerRoots,
  workerRoots,
} from './root/operations.ts';
import { checkTags } from './tags.ts';

const { type, attributes, ...ofWorkers } = commonFields;
const newWorker = {
  ...ofWorkers,
  scope_id: ofWorkers.scope_id.describe('`global`.'),
  name: ofWorkers.name.describe('Lower case; what filters call it.'),
  ...workerDefinition.fields,
};

function enrolmentRoute(flow: 'controller-led' | 'worker-led', summary: string): AnyBoundaryRoute {
  return boundaryRoute({
    id: `create-worker-${flow}`,
    method: 'POST',
    path: `/v1/workers:create:${flow}`,
    summary,
    access: globalAccess('worker', `create:${flow}`),
    input: z.object(newWorker),
    output: shownSchema(workerDefinition),
    failures: ['invalid', 'conflict', 'unauthenticated', 'forbidden', 'unsupported'],
    audit: recordedOf(workerDefinition, ['scope_id']).audit ?? [],
    check: (request) => checkEnrolment(flow, request),
    run: async (app, caller, { item }, { scope }) => {
      const enrol = flow === 'worker-led' ? admitWorker : expectWorker;
      return { item: await enrol(app, caller, { item, scope }) };
    },
  });
}

function authorityRoute(
  verb: 'read' | 'reinitialize',
  run: (app: App, caller: BrokerCaller) => Promise<WorkerRoots>,
  summary: string,
): AnyBoundaryRoute {
  return boundaryRoute({
    id: `${verb}-worker-certificate-authority`,
    method: verb === 'read' ? 'GET' : 'POST',
    ...(verb === 'read' && { on_any_thread: true }),
    path: `/v1/workers:${verb}-certificate-authority`,
    summary,
    access: globalAccess('worker', `${verb}-certificate-authority`),
    input: z.object({ scope_id: z.string().optional().describe('`global`.') }),
    query: z.object({ scope_id: z.string().optional().describe('`global`.') }),
    output: workerRoots,
    failures: ['invalid', 'unauthenticated', 'forbidden'],
    audit: ['scope_id'],
    check: ({ query, item }) => {
      const scope_id = query.get('scope_id') ?? item.scope_id;
      if (scope_id === 'global') return;
      const when = verb === 'read' ? 'reading' : 'reinitializing certs';
      refuseField('scope_id', `Must be 'global' when ${when}.`, IN_REQUEST);
    },
    run: async (app, caller) => ({ body: await run(app, caller) }),
  });
}

/** Checked by `checkTags`, in words of their own. */
const tags = recordedAs(
  z.unknown().optional().describe('Lists of values, by key.'),
  z.record(z.string(), z.union([z.string(), z.array(z.string())])),
);

export const workerRoutes: readonly AnyBoundaryRoute[] = [
  listRoute(workerDefinition, {
    output: z.object({ items: z.array(shownSchema(workerDefinition)).optional() }),
    checkList: checkWorkerList,
    list: listAllWorkers,
  }),
  ...standardRoutes(workerDefinition, {
    only: ['read', 'update', 'delete'],
  }),
  ...linkRoutes(workerDefinition, 'worker-tags', {
    summaries: {
      add: 'Give tags to a worker',
      set: 'Replace the tags that were given to a worker',
      remove: 'Take tags from a worker',
    },
    fields: { api_tags: tags },
    check: checkTags,
    run: changeTags,
  }),
  enrolmentRoute('controller-led', 'Expect a worker, and make the token it comes with'),
  enrolmentRoute('worker-led', 'Enrol a worker by the token it has printed'),
  authorityRoute('read', readWorkerAuthority, 'Read the roots that workers are enrolled under'),
  authorityRoute(
    'reinitialize',
    reinitializeWorkerAuthority,
    'Replace the roots that workers are enrolled under',
  ),
];
