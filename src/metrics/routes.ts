import { z } from 'zod';
import { type AnyRoute, vaultRoute } from '../app/route.ts';
import { choice } from '../core/fields.ts';
import { metricsOutput } from './metrics.ts';
import { readMetrics } from './operations.ts';

export const metricsRoutes: AnyRoute[] = [
  vaultRoute({
    id: 'metrics',
    method: 'GET',
    path: '/v1/sys/metrics',
    summary: 'Read what this node has counted and measured since it started',
    // The setting `telemetry.unauthenticated_metrics_access` decides whether a token is needed.
    access: 'public',
    identify: true,
    input: z.object({
      format: choice(['', 'prometheus'], '').describe(
        'Text in the format of Prometheus, or JSON when left out.',
      ),
    }),
    output: metricsOutput,
    failures: ['forbidden'],
    run: readMetrics,
  }),
];
