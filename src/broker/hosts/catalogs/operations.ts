import { endBeforehand } from '../../iam/removal.operations.ts';
import type { Kind, ResourceHandler } from '../../resource/handler.ts';
import { planDependentCancellation } from '../../sessions/termination.operations.ts';

export const hostCatalogDefinition: ResourceHandler<Kind> = {
  type: 'host-catalog',
  containerField: 'scope_id',
  fields: {},
  shown: {},
  showsType: true,
  words: { stale: 'Host catalog "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype(item, _parent, errors) {
    if (item.type === 'static') return 'static';
    errors.add(
      'type',
      item.type === 'plugin'
        ? 'Host catalogs of type "plugin" are not available in this version.'
        : 'This is a required field and must be either "static" or "plugin".',
    );
    return '';
  },
  checkNew() {},
  planNew: async () => ({}),
  updatable: () => [],
  checkChange() {},
  planChange: async () => ({}),
  endBeforehand,
  planRemoval: async (app, _caller, { id }) =>
    planDependentCancellation(app, { host_catalog_id: id }),
  describe: async (_app, _caller, catalogs) => catalogs.map(() => ({})),
};
