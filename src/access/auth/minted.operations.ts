import type { App } from '../../app/app.ts';
import type { AuthResult } from '../../app/output.ts';
import { listEntityPolicies } from '../identity/persons.operations.ts';
import { describeAuth } from '../tokens/answers.ts';
import { type MintedToken, nowSeconds } from '../tokens/minting.operations.ts';
import type { Token } from '../tokens/token.ts';

/** The answer that hands a token to its owner; only after its effects are committed. */
export async function answerMinted(
  app: App,
  minted: MintedToken,
  warnings: string[],
): Promise<AuthResult> {
  const policies = await identityPolicies(app, minted.token);
  const auth = describeAuth(minted.token, minted.client_token, nowSeconds(app), policies);
  return warnings.length > 0 ? { auth, warnings } : { auth };
}

/** Policies that a token has by what it stands for. */
export async function identityPolicies(app: App, token: Token): Promise<readonly string[]> {
  return token.restricted ? [] : entityPolicies(app, token.entity_id);
}

export async function entityPolicies(app: App, entity_id: string): Promise<readonly string[]> {
  return entity_id === '' ? [] : listEntityPolicies(app, entity_id);
}
