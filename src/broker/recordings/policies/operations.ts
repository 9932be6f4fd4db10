import { omitEmpty } from '../../../core/omit-empty.ts';
import { IN_REQUEST, refuseField } from '../../resource/field-errors.ts';
import type { Plan, ResourceHandler } from '../../resource/handler.ts';
import {
  checkPolicy,
  faultOfPolicy,
  NEW_POLICY,
  POLICY_PATHS,
  type PolicyKind,
  planPolicy,
  policyAttributes,
  policyShown,
  type StoragePolicy,
} from './policy.ts';

export const policyDefinition: ResourceHandler<PolicyKind> = {
  type: 'policy',
  containerField: 'scope_id',
  fields: {},
  attributes: policyAttributes,
  shown: policyShown,
  showsType: true,
  words: { stale: 'Policy "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, _parent, errors) {
    if (item.type === 'storage') return 'storage';
    errors.add('type', "This is a required field and must be 'storage'.");
    return '';
  },
  checkNew: (item, _subtype, errors) => checkPolicy(item, errors),
  planNew: async (_app, _caller, { item }) => planned(planPolicy(NEW_POLICY, item, 'all')),
  updatable: () => POLICY_PATHS,
  checkChange: (item, _request, errors) => checkPolicy(item, errors),
  planChange: async (_app, _caller, { resource, item, mask }) =>
    planned(planPolicy(resource.body, item, mask)),

  async describe(_app, _caller, policies) {
    return policies.map(({ body }) => ({
      attributes: omitEmpty({
        retain_for: shown(body, 'retain_for'),
        delete_after: shown(body, 'delete_after'),
      }),
    }));
  },
};

/** @throws Failure `invalid` */
function planned(body: StoragePolicy): Plan<PolicyKind> {
  const fault = faultOfPolicy(body);
  if (fault) refuseField(...fault, IN_REQUEST);
  return { body };
}

function shown(body: StoragePolicy, of: 'retain_for' | 'delete_after') {
  const days = body[`${of}_days`];
  const overridable = body[`${of}_overridable`];
  // One of no days still says that an org's own policy may not have any.
  return days === null && overridable ? undefined : { days: days ?? 0, overridable };
}
