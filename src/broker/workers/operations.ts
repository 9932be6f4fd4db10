import { z } from 'zod';
import { listInTurn } from '../../access/concurrency/walks.operations.ts';
import type { App } from '../../app/app.ts';
import { omitEmpty } from '../../core/omit-empty.ts';
import { outputOnly } from '../../core/output-only.ts';
import type { BrokerCaller } from '../resource/caller.ts';
import { type FieldErrors, IN_REQUEST, refuseField } from '../resource/field-errors.ts';
import type { ItemOf, Kind, ResourceHandler } from '../resource/handler.ts';
import type { LinkVerbRequest } from '../resource/links/fields.ts';
import { isKnown, type ListAnswer, listNow } from '../resource/lists/operations.ts';
import { type ListRequest, MAX_PAGE_SIZE } from '../resource/lists/query.ts';
import { commitChange } from '../resource/operations.ts';
import { formatTime, type Resource } from '../resource/resource.ts';
import { deleteActivations, deleteKeys } from './enrolment.store.ts';
import { joinTags } from './selection.ts';
import { listAlive, readReports } from './status.operations.ts';
import { countOpenConnections, deleteStatus } from './store.ts';
import { faultOfAll, planTags, type Tags } from './tags.ts';
import type { WorkerBody } from './worker.ts';

/** Fields that workers report of themselves; a request that carries one is refused. */
const REPORTED = ['address', 'canonical_tags', 'config_tags', 'last_status_time'] as const;

const fields = {
  address: outputOnly(),
  canonical_tags: outputOnly(),
  config_tags: outputOnly(),
  last_status_time: outputOnly(),
  api_tags: z.unknown().optional().describe('Set by `:set-worker-tags`.'),
  worker_generated_auth_token: z
    .string()
    .optional()
    .describe('What a worker prints at its start; `:create:worker-led` only.'),
  controller_generated_activation_token: outputOnly(),
  active_connection_count: outputOnly(),
  release_version: outputOnly(),
  directly_connected_downstream_workers: outputOnly(),
  local_storage_state: outputOnly(),
  remote_storage_state: outputOnly(),
};

const tags = z.record(z.string(), z.array(z.string()));

const shown = {
  address: z.string().describe('Where clients reach it.'),
  release_version: z.string(),
  canonical_tags: tags.describe('Those of its configuration and those that it was given.'),
  config_tags: tags.describe('Of its configuration.'),
  api_tags: tags.describe('That it was given.'),
  last_status_time: z.string().describe('Of its last report.'),
  active_connection_count: z.int(),
  type: z.string(),
  local_storage_state: z.string(),
  controller_generated_activation_token: z
    .string()
    .describe('What a worker comes with that is expected; shown once.'),
};

export interface WorkerKind extends Kind {
  fields: typeof fields;
  shown: typeof shown;
  body: WorkerBody;
}

type WorkerItem = ItemOf<WorkerKind>;

export const workerDefinition: ResourceHandler<WorkerKind> = {
  type: 'worker',
  containerField: 'scope_id',
  secrets: ['worker_generated_auth_token', 'controller_generated_activation_token'],
  fields,
  shown,
  wholeFields: ['api_tags', 'canonical_tags', 'config_tags', 'remote_storage_state'],
  cached: true,
  words: { stale: 'Worker "%" doesn\'t exist or incorrect version provided.' },

  checkNew(item, _subtype, errors) {
    if (item.scope_id !== 'global') errors.add('scope_id', "Must be 'global'");
    checkFields(item, errors);
  },
  async planNew() {
    const body: WorkerBody = {
      address: '',
      release_version: '',
      config_tags: {},
      api_tags: {},
      node: '',
    };
    return { body };
  },
  updatable: () => [],
  checkChange: (item, _request, errors) => checkFields(item, errors),
  planChange: async () => ({}),
  async planRemoval(app, _caller, worker) {
    const { node } = worker.body;
    if (node !== '' && (await listAlive(app)).has(worker.id)) {
      refuseField(
        'id',
        'This worker is part of a running server: it can be deleted once that has stopped.',
        IN_REQUEST,
      );
    }
    return [deleteStatus(worker.id), deleteActivations(worker.id), deleteKeys(worker.id)];
  },

  async describe(app, _caller, workers) {
    const reports = new Map((await readReports(app)).map((row) => [row.worker_id, row]));
    const open = await countOpenConnections(
      app.db,
      workers.map(({ id }) => id),
    );
    return workers.map((worker) => {
      const { address, release_version, config_tags, api_tags } = worker.body;
      const report = reports.get(worker.id);
      return {
        ...omitEmpty({
          address,
          release_version,
          canonical_tags: joinTags(config_tags, api_tags),
          config_tags,
          api_tags,
          last_status_time: report && formatTime(report.last_status_ms),
        }),
        active_connection_count: open.get(worker.id) ?? 0,
        type: 'pki',
        local_storage_state: 'unknown',
      };
    });
  },
};

function checkFields(item: WorkerItem, errors: FieldErrors): void {
  for (const field of REPORTED) {
    if (item[field] !== undefined) errors.add(field, 'This is a read only field.');
  }
  const { name } = item;
  if (name !== undefined && name !== name.toLowerCase()) {
    errors.add('name', 'Name must be all lowercase.');
  }
}

/** @throws Failure `invalid` */
export function checkWorkerList({ place }: ListRequest): void {
  if (place === 'global') return;
  refuseField('scope_id', "Must be 'global' when listing.", IN_REQUEST);
}

/** Characters of workers that one answer shows. */
const MOST_SHOWN = 8 << 20;

function refuseLength(): never {
  const because = `The workers come to more than ${MOST_SHOWN} characters: name fewer by a filter.`;
  refuseField('filter', because, IN_REQUEST);
}

/** What a list of workers shows. */
type WorkerList = Pick<ListAnswer, 'items'>;

/** Lists workers, all at once: this list alone has no pages. */
export function listAllWorkers(
  app: App,
  caller: BrokerCaller,
  asked: ListRequest,
): Promise<WorkerList> {
  const make = () => gatherWorkers(app, caller, asked);
  return listInTurn(app, caller, { isLong: true, isKnown: isKnown(caller), make });
}

async function gatherWorkers(
  app: App,
  caller: BrokerCaller,
  { filter }: ListRequest,
): Promise<WorkerList> {
  const items: object[] = [];
  let length = 0;
  for (let list_token = ''; ; ) {
    const asked = {
      place: 'global',
      recursive: false,
      page_size: MAX_PAGE_SIZE,
      list_token,
      filter,
    };
    const page = await listNow(app, caller, workerDefinition, asked);
    for (const item of page.items ?? []) {
      length += JSON.stringify(item).length;
      items.push(item);
    }
    if (length > MOST_SHOWN) refuseLength();
    if (page.response_type !== 'delta') return omitEmpty({ items });
    list_token = page.list_token ?? '';
  }
}

/** Adds, replaces or removes tags that people give to a worker. */
export function changeTags(
  app: App,
  caller: BrokerCaller,
  { resource, change, checked }: LinkVerbRequest<WorkerKind, Tags>,
): Promise<Resource<WorkerBody>> {
  const api_tags = planTags(change, resource.body.api_tags, checked);
  const because = change === 'remove' ? undefined : faultOfAll(api_tags);
  if (because !== undefined) refuseField('api_tags', because);
  const body = { ...resource.body, api_tags };
  return commitChange(app, caller, workerDefinition, resource, { body });
}
