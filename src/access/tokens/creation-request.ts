import type { TokenFacts } from '../../app/caller.ts';
import type { TokenRole } from './role.ts';

/** What a client asks for in `auth/token/create`. Seconds; undefined: not said. */
export interface TokenRequest {
  id: string;
  policies: readonly string[];
  meta?: Record<string, string> | undefined;
  no_parent: boolean;
  no_default_policy: boolean;
  renewable: boolean;
  ttl: number;
  explicit_max_ttl: number;
  period: number;
  display_name: string;
  num_uses: number;
  type: string;
  entity_alias: string;
}

export interface CreationFacts {
  request: TokenRequest;
  parent: TokenFacts;
  /** Policies of the parent's entity and its groups. */
  entity_policies: readonly string[];
  /** The parent may do what is reserved to sudo on the path it asks at. */
  sudo: boolean;
  /** The path asked at makes orphans. */
  orphan: boolean;
  role: { name: string; rules: TokenRole } | undefined;
  default_ttl: number;
  max_ttl: number;
  /** Unix seconds. */
  now: number;
}
