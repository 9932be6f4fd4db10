import assert from 'node:assert/strict';
import type { AccessRequest, Asked } from '../../src/acl/access-request.ts';
import { type Acl, compileAcl, judgeAccess, judgeBrought, judgeGrants } from '../../src/acl/acl.ts';
import { MOST_COMPARISONS } from '../../src/acl/comparisons.ts';
import { listCapabilities } from '../../src/acl/grants.ts';
import type { FormedSegment } from '../../src/acl/name-form.ts';
import type { Policy } from '../../src/acl/policy.ts';
import { RuleWalk } from '../../src/acl/rule-walk.ts';
import type { AccessVerdict } from '../../src/acl/verdict.ts';
import { doAll, type Soon } from '../../src/core/steps.ts';

export function compiledAcl(policies: readonly Policy[], now: number): Acl {
  return doAll(compileAcl(policies, now));
}

/** For policies of a few rules: those are judged at once. */
export function atOnce<Of>(soon: Soon<Of>): Of {
  assert.ok(!(soon instanceof Promise), 'it takes turns');
  return soon;
}

export function judgedAccess(acl: Acl, request: AccessRequest): AccessVerdict {
  return atOnce(judgeAccess(acl, request));
}

export function judgedBrought(acl: Acl, request: AccessRequest): AccessVerdict {
  return atOnce(judgeBrought(acl, request));
}

export function mayBeAllowed(acl: Acl, asked: Asked): boolean {
  return atOnce(judgeGrants(acl, asked, { left: MOST_COMPARISONS })).allowed;
}

export function capabilitiesAt(
  acl: Acl,
  path: string,
  formed?: readonly FormedSegment[],
): Promise<string[]> {
  return listCapabilities(acl, path, new RuleWalk(), formed);
}
