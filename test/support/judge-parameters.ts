import { MOST_COMPARISONS } from '../../src/acl/comparisons.ts';
import { NO_READER, type ParameterReader } from '../../src/acl/parameter-forms.ts';
import { readFields, walkFields } from '../../src/acl/parameter-rules.ts';
import type { ParameterConditions } from '../../src/acl/policy.ts';
import { doAll } from '../../src/core/steps.ts';

/** Why a rule refuses parameters, judged all at once; undefined if it does not. */
export function judgeParameters(
  rule: ParameterConditions,
  parameters: Readonly<Record<string, unknown>>,
  reader: ParameterReader = NO_READER,
): string | undefined {
  return doAll(walkFields(rule, readFields(parameters, reader), { left: MOST_COMPARISONS }));
}
