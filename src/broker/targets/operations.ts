import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { omitEmpty } from '../../core/omit-empty.ts';
import type { AliasBody } from '../aliases/alias.ts';
import { planAliases } from '../aliases/operations.ts';
import { endBeforehand } from '../iam/removal.operations.ts';
import { IN_REQUEST, refuseField } from '../resource/field-errors.ts';
import type { ResourceHandler, ShownOf } from '../resource/handler.ts';
import { type LinkKind, listLinksFrom } from '../resource/links/store.ts';
import type { Resource } from '../resource/resource.ts';
import {
  endSessionsBeforehand,
  planDependentCancellation,
} from '../sessions/termination.operations.ts';
import { planBucketLink } from './recording.operations.ts';
import { type Linked, listLinked } from './store.ts';
import {
  checkNewTarget,
  checkTargetChange,
  planTarget,
  TARGET_DEFAULTS,
  TARGET_TYPES,
  type TargetBody,
  type TargetKind,
  updatablePaths,
} from './target.ts';
import { targetAttributes, targetFields, targetShown } from './target-fields.ts';

export const targetDefinition: ResourceHandler<TargetKind> = {
  type: 'target',
  containerField: 'scope_id',
  fields: targetFields,
  attributes: targetAttributes,
  shown: targetShown,
  showsType: true,
  words: {
    stale: 'Target "%" not found or incorrect version provided.',
    emptyMask: 'No valid paths provided in the update mask.',
  },

  chooseSubtype(item, _parent, errors) {
    const type = TARGET_TYPES.find((known) => known === item.type);
    if (type === undefined) errors.add('type', 'Unknown type provided.');
    return type ?? '';
  },
  checkNew: checkNewTarget,
  async planNew(app, caller, { id, subtype, wanted: { item, aliases }, container: { scope } }) {
    const body = planTarget(TARGET_DEFAULTS, subtype, item, 'all');
    const bucket = await planBucketLink(app, { id, scope }, undefined, body);
    if (aliases.some(({ value }) => value === '')) {
      refuseField('with_aliases', 'An included alias needs a value.', IN_REQUEST);
    }
    return { body, effects: [...(await planAliases(app, caller, id, aliases)), ...bucket] };
  },

  updatable: updatablePaths,
  checkChange: checkTargetChange,
  async planChange(app, _caller, { resource, change, mask, container: { scope } }) {
    const body = planTarget(resource.body, resource.subtype, change, mask);
    const { id } = resource;
    const bucket = await planBucketLink(app, { id, scope }, resource.body, body);
    if (mask.includes('address') && body.address !== '') {
      const sources = await listLinksFrom(app.db, resource.id, 'target-host-source');
      if (sources.length > 0) {
        throw new Failure(
          'precondition',
          'unable to set address because one or more host sources is assigned to the given target',
        );
      }
    }
    for (const field of ['egress_worker_filter', 'ingress_worker_filter'] as const) {
      if (body.worker_filter === '' || !body[field]) continue;
      refuseField(
        field,
        `Cannot set worker_filter and ${field}; they are mutually exclusive fields.`,
        IN_REQUEST,
      );
    }
    const loses = resource.body.address !== '' && body.address === '';
    const loss = { address_of: resource.id };
    if (!loses) return { body, effects: bucket };
    return {
      body,
      effects: [...planDependentCancellation(app, loss), ...bucket],
      beforehand: { end: (work) => endSessionsBeforehand(app, work, loss), preconditions: [] },
    };
  },
  endBeforehand,
  planRemoval: async (app, _caller, { id }) => planDependentCancellation(app, { target_id: id }),

  async describe(app, _caller, targets, how) {
    return Promise.all(
      targets.map(async (target) => ({
        ...describeFields(target),
        ...(how === 'item' ? await describeSources(app, target) : {}),
      })),
    );
  },
};

function describeFields({ body }: Resource<TargetBody>): ShownOf<TargetKind> {
  return {
    ...omitEmpty({
      worker_filter: body.worker_filter,
      egress_worker_filter: body.egress_worker_filter,
      ingress_worker_filter: body.ingress_worker_filter ?? '',
    }),
    // These show whatever their value, and so does the object of attributes.
    session_max_seconds: body.session_max_seconds,
    session_connection_limit: body.session_connection_limit,
    attributes: omitEmpty({
      default_port: body.default_port,
      default_client_port: body.default_client_port,
      storage_bucket_id: body.storage_bucket_id,
      enable_session_recording: body.enable_session_recording,
      record_session_input: body.record_session_input,
      host_keys: body.host_keys,
      host_ca_keys: body.host_ca_keys,
    }),
    address: body.address,
  };
}

async function describeSources(app: App, target: Resource): Promise<ShownOf<TargetKind>> {
  const linked = await listLinked(app.db, target.id);
  if (linked.length === 0) return {};
  const of = (kind: LinkKind): Linked[] => linked.filter((one) => one.kind === kind);
  const idOf = ({ id }: Linked): string => id;
  const credentialSource = ({ id, container_id }: Linked) => ({
    id,
    credential_store_id: container_id,
  });
  const hosts = of('target-host-source');
  const brokered = of('target-brokered');
  const injected = of('target-injected');
  return omitEmpty({
    host_source_ids: hosts.map(idOf),
    host_sources: hosts.map(({ id, container_id }) => ({ id, host_catalog_id: container_id })),
    brokered_credential_source_ids: brokered.map(idOf),
    brokered_credential_sources: brokered.map(credentialSource),
    injected_application_credential_source_ids: injected.map(idOf),
    injected_application_credential_sources: injected.map(credentialSource),
    aliases: of('alias-destination').map(({ id, body }) => {
      const { value }: AliasBody = JSON.parse(body);
      return { id, value };
    }),
  });
}
