import { z } from 'zod';
import type { Caller } from '../../../app/caller.ts';
import type { AnyRoute } from '../../../app/route.ts';
import { text } from '../../../core/fields.ts';
import { issueFields, signFields } from '../../profile/request.ts';

const role = text().describe('Name of the CEL role.');
const { cert_metadata: _, csr, ...celFields } = signFields;
const { key_type, key_bits } = issueFields;

// The fields that issuance knows are declared, so that conditions of policies compare them as they do there; the
// program has all that was sent as it was sent, whatever else it is called.

export const celIssueSchema = z.looseObject({ role, ...celFields, key_type, key_bits });
export const celSignSchema = z.looseObject({ role, ...celFields, csr });
/** Of either, for what is not issued. */
export const celTrialSchema = z.looseObject({ role, ...celFields, csr, key_type, key_bits });
export type CelTrialInput = z.output<typeof celTrialSchema>;
export type CelIssueInput = z.output<typeof celIssueSchema>;
export type CelSignInput = z.output<typeof celSignSchema>;

const sentBy = new WeakMap<Caller, Readonly<Record<string, unknown>>>();

/** Keeps what is sent to an endpoint beside what its fields are read to. */
export function keepingSent(route: AnyRoute): AnyRoute {
  return {
    ...route,
    run: (app, caller, input) => {
      const { role: _, ...sent } = input;
      sentBy.set(caller, sent);
      return route.run(app, caller, input);
    },
  };
}

/** The body as it came. A query is none of it: conditions of policies do not see what is not declared there. */
export function sentOf(caller: Caller): Readonly<Record<string, unknown>> {
  return sentBy.get(caller) ?? {};
}
