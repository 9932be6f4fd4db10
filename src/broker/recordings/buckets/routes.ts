import { z } from 'zod';
import type { AnyBoundaryRoute } from '../../resource/route.ts';
import { standardRoutes } from '../../resource/routes.ts';
import { bucketDefinition } from './operations.ts';

export const bucketRoutes: readonly AnyBoundaryRoute[] = standardRoutes(bucketDefinition, {
  createQuery: z.object({
    plugin_name: z
      .string()
      .optional()
      .describe('What keeps the objects, by its name: `local`, `aws`, `minio`.'),
  }),
});
