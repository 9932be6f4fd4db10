import type { App } from '../../app/app.ts';
import type { VaultResult } from '../../app/result.ts';
import type { Soon } from '../../core/steps.ts';
import type { Dialect, Exchange, Stages } from '../dialect.ts';
import { findToken, listTokens, requireOneToken } from '../request-headers.ts';
import type { HttpResponse } from '../response.ts';
import {
  type Possible,
  permitWhole,
  readInput,
  requirePossible,
  type VaultPermitted,
} from './admission.ts';
import { encodeResult } from './answer.ts';
import { type Asker, identify } from './asker.ts';
import { sealWithoutDatabase } from './emergency.ts';
import { answerHelp } from './help.ts';
import { type FoundRoute, findVaultRoute, requireHead } from './routing.ts';
import type { VaultRouters } from './target.ts';
import { encodeFailure, refusal } from './wire.ts';
import { wrapIfAsked } from './wrapping.ts';

export interface VaultStages extends Stages {
  found: FoundRoute;
  asker: Asker;
  possible: Possible;
  input: Record<string, unknown>;
  permitted: VaultPermitted;
  result: VaultResult;
}

/** The Vault API: engines at mounts, permission by policies, answers in an envelope. */
export const vaultDialect = (routers: VaultRouters): Dialect<VaultStages> => ({
  // Of what is nobody's, too: it is refused in these words.
  accepts: () => true,
  sealed: 'Vault is sealed',
  find: (app, exchange) => findVaultRoute(app, routers, exchange),
  isForAny(app, { route }) {
    const says = route?.on_any_thread;
    return typeof says === 'function' ? says(app) : says === true;
  },
  requireHead,
  findCredentials: (_app, { request }) => ({
    text: requireOneToken(request) ?? '',
    living: undefined,
  }),
  identify,
  describe: (app, exchange, found, asker) =>
    found.asks_help ? answerHelp(app, exchange, found, asker) : undefined,
  requirePossible,
  read: readInput,
  permit: permitWhole,
  run: (app, { route, caller, input }) => route.run(app, caller, input),
  encode,
  listCredentials: listTokens,
  rescue: sealAllTheSame,
  encodeFailure,
  encodeFault: ({ status, because }) => refusal(status, [because]),
});

function encode(
  app: App,
  { caller, route, endpoint, fields }: VaultPermitted,
  result: VaultResult,
): Soon<HttpResponse> {
  const encoded = encodeResult(caller, route, result, { fields, params: endpoint.match.params });
  return wrapIfAsked(app, caller, result, encoded);
}

function sealAllTheSame(
  app: App,
  { request, trace }: Exchange,
  thrown: unknown,
): Promise<HttpResponse | undefined> {
  const { method, url } = request;
  return sealWithoutDatabase(app, { method, url, text: findToken(request) }, trace, thrown);
}
