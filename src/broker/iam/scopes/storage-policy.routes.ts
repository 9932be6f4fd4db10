import { z } from 'zod';
import { isIdOf } from '../../resource/ids.ts';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { actionRoute } from '../../resource/verbs.routes.ts';
import { scopeDefinition } from './operations.ts';
import { attachStoragePolicy, detachStoragePolicy } from './storage-policy.operations.ts';

export const storagePolicyRoutes: readonly AnyBoundaryRoute[] = [
  actionRoute(scopeDefinition, 'attach-storage-policy', {
    summary: 'Have recordings follow a storage policy',
    fields: {
      storage_policy_id: z.string().optional().describe('In place of the one there was.'),
    },
    audit: ['storage_policy_id'],
    check({ storage_policy_id = '' }, errors) {
      if (!isIdOf(storage_policy_id, 'policy')) {
        errors.add('storage_policy_id', 'Incorrectly formatted identifier.');
      }
      return storage_policy_id;
    },
    run: attachStoragePolicy,
  }),
  actionRoute(scopeDefinition, 'detach-storage-policy', {
    summary: 'Have recordings follow no storage policy of the scope',
    fields: {},
    check() {},
    run: detachStoragePolicy,
  }),
];
