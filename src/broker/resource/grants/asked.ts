import { PassingRoom } from '../../../core/fairness/passing.ts';
import { ROOMS } from '../../../core/rooms.ts';

/**
 * What grant sets remember of what they were asked. A user's is small until they list what is in ten thousand
 * scopes, and there are thousands of users.
 */
export const ASKED = new PassingRoom({ all: ROOMS.broker_asked, one: ROOMS.broker_asked / 4 });

/** What is remembered of a scope, and of a type where the same grants apply, with some verdicts on it. */
export const ASKED_BYTES = { place: 80, view: 1_400, bundle: 16, possible: 120, fingerprint: 160 };
