/** A request of somebody known, one of too many. */
interface TooMany {
  /** Whoever asks, by all of their tokens: their entity, or a token that has none. */
  party: string;
  /** What was asked for. */
  route: string;
}

/** Such requests of somebody, beyond those with records of their own. */
export interface CallerCount<Caller> {
  /** By the first of their tokens; none: of all who were not counted apart. */
  caller: Caller | undefined;
  requests: number;
  /** Absent: of whatever was not counted apart. */
  route: string | undefined;
}

/** Callers that are counted apart; all others together, by what they asked for. */
const CALLERS = 50;
/** Endpoints of one that are counted apart; all others together. */
const ROUTES = 20;

/** What one caller has asked for. */
interface Asked<Caller> {
  routes: Map<string, CallerCount<Caller>>;
  others: CallerCount<Caller>;
}

/**
 * Keeps the records of callers who ask too often within bounds, however often they ask: between two times of
 * counting the first request of somebody for something is recorded by itself, the others by how many there were.
 */
export class CallerTally<Caller> {
  #callers = new Map<string, Asked<Caller>>();
  /** Of all who are not counted apart. */
  #others = new Map<string, CallerCount<Caller>>();

  /**
   * Takes in a request.
   *
   * @param nameCaller what their counts name them by, asked for once
   * @param isRoom whether another record can be kept
   * @returns true when it is to be recorded by itself, false when it was counted
   */
  take({ party, route }: TooMany, nameCaller: () => Caller, isRoom = true): boolean {
    const asked = this.#askedOf(party, nameCaller);
    if (!asked) {
      countedOf(this.#others, undefined, route).requests += 1;
      return false;
    }
    const { routes, others } = asked;
    const isFirst = !routes.has(route);
    if (isFirst && routes.size >= ROUTES) {
      others.requests += 1;
      return false;
    }
    const counted = countedOf(routes, others.caller, route);
    if (isFirst && isRoom) return true;
    counted.requests += 1;
    return false;
  }

  #askedOf(party: string, nameCaller: () => Caller): Asked<Caller> | undefined {
    const known = this.#callers.get(party);
    if (known || this.#callers.size >= CALLERS) return known;
    const others = { caller: nameCaller(), requests: 0, route: undefined };
    return this.#callers.getOrInsert(party, { routes: new Map(), others });
  }

  /** What was counted since the last time: at most 21 counts of each of 50 callers, and one for each route besides. */
  drain(): CallerCount<Caller>[] {
    const ofCallers = [...this.#callers.values()].flatMap(({ routes, others }) => [
      ...routes.values(),
      others,
    ]);
    const counts = [...ofCallers, ...this.#others.values()];
    this.#callers.clear();
    this.#others.clear();
    return counts.filter(({ requests }) => requests > 0);
  }
}

/** By route, of which a server has some hundreds: they need no bound. */
function countedOf<Caller>(
  counts: Map<string, CallerCount<Caller>>,
  caller: Caller | undefined,
  route: string,
): CallerCount<Caller> {
  return counts.getOrInsert(route, { caller, requests: 0, route });
}
