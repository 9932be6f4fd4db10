import { type App, perApp } from '../../app/app.ts';
import { inOnePlace, oneForAll } from '../../app/one-for-all.ts';
import { type Soon, whenThere } from '../../core/steps.ts';
import type { Credentials, Exchange } from '../dialect.ts';
import type { HttpResponse } from '../response.ts';
import { type Counted, type QuotaVerdict, RateLimiter } from './rate-limit.ts';
import type { FoundRoute } from './routing.ts';

const limiterOf = perApp((app) => new RateLimiter(app.config.rate_limits));

/** Counts a request; one too many is answered with when to come again, and no body. */
export function takeQuota(
  app: App,
  { request, headers }: Exchange,
  { route: { id, access } }: FoundRoute,
  { text, living }: Credentials,
): Soon<HttpResponse | undefined> {
  if (app.config.rate_limits.disable) return undefined;
  const lists = access !== 'public' && access.action === 'list';
  const known_as = living && (living.entity_id || living.id);
  const { remote_address } = request;
  const asked = { endpoint: id, lists, remote_address, token: text, known_as };
  return whenThere(count(app, asked), (verdict) => {
    Object.assign(headers, verdict.headers);
    if (verdict.allowed) return undefined;
    const again = { 'retry-after': String(verdict.retry_after) };
    return { status: 429, headers: again, body: undefined };
  });
}

const count = (app: App, asked: Counted): Soon<QuotaVerdict> =>
  oneForAll(app).ask ? countInOnePlace(app, asked) : limiterOf(app).take(asked, app.now());

const countInOnePlace = inOnePlace('broker/quota', async (app, asked: Counted) =>
  limiterOf(app).take(asked, app.now()),
);
