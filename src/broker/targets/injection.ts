import type { InjectionVerdict } from '../credentials/of-sessions/session-facts.ts';
import type { Resource } from '../resource/resource.ts';
import { HOST_KEY_FIELDS } from './host-keys.ts';
import type { TargetBody } from './target.ts';

/** Whether workers can log in at a target's endpoint. @see B-131 */
export function judgeInjection({ subtype, body }: Resource<TargetBody>): InjectionVerdict {
  if (subtype !== 'ssh') return { kind: 'unused' };
  const isKnown = HOST_KEY_FIELDS.some((field) => (body[field] ?? []).length > 0);
  return isKnown
    ? { kind: 'used' }
    : {
        kind: 'refused',
        because:
          'the target has injected credentials and no attributes.host_keys or attributes.host_ca_keys: ' +
          'its endpoint has to be known before anything is sent to it',
      };
}
