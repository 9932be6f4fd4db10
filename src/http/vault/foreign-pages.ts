import type { AnyRoute } from '../../app/route.ts';
import { isForeignPage } from '../../core/cors.ts';
import { Failure } from '../../core/failure.ts';
import type { HttpRequest } from '../request.ts';

/**
 * Refuses what a page of another origin sends to an endpoint that changes something and needs no
 * token: a browser reaches addresses that its user's visitors do not, a new server's `sys/init`
 * among them. Whether a certificate is revoked may be asked from everywhere.
 *
 * @throws Failure `forbidden`
 */
export function refuseForeignPage(route: AnyRoute | undefined, { headers }: HttpRequest): void {
  if (route?.access !== 'public' || route.body === 'bytes') return;
  if (route.method === 'GET' || route.method === 'LIST') return;
  const { origin, host, 'sec-fetch-site': fetch_site } = headers;
  if (isForeignPage({ origin, host: host?.toString(), fetch_site })) {
    throw new Failure('forbidden', 'origin not allowed');
  }
}
