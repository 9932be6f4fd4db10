import type { TokenRequest } from '../../src/access/tokens/creation-request.ts';

/** Asks for a token and says nothing of it. */
export const PLAIN_REQUEST: TokenRequest = {
  id: '',
  policies: [],
  no_parent: false,
  no_default_policy: false,
  renewable: true,
  ttl: 0,
  explicit_max_ttl: 0,
  period: 0,
  display_name: '',
  num_uses: 0,
  type: '',
  entity_alias: '',
};
