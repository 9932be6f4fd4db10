import { type App, perApp } from '../app/app.ts';
import { type TokenStanding, tellStanding } from './seal-token.ts';

const standingOf = perApp<{ now: TokenStanding }>(() => ({ now: 'fine' }));

/** Keeps how it stands with the token of a transit seal, and logs it: what ends each time, other trouble once. */
export function noteTokenStanding(app: App, standing: TokenStanding, facts: object): void {
  const known = standingOf(app);
  const isNew = known.now !== standing;
  known.now = standing;
  const warning = tellStanding(standing);
  if (warning === undefined) {
    if (isNew) app.log.info(facts, 'the token of the transit seal is in order again');
  } else if (isNew || standing === 'ends') app.log.warn(facts, warning);
}

/** What a status says of the token of a transit seal; undefined: nothing is wrong with it. */
export function tellSealToken(app: App): string | undefined {
  return tellStanding(standingOf(app).now);
}
