import { doFor } from './asking.ts';
import { AskingLine } from './asking-line.ts';
import { OWN_PARTY } from './party.ts';

/**
 * Work of which a few pieces are under way at the same time, because each takes much memory until it is
 * done; others wait in turn, by site, address and request. They wait for whoever has a place, which
 * therefore goes on as the server's own work: among many requests of its site it would take that many times longer.
 */
export class FewInTurn {
  readonly #line = new AskingLine();
  #free: number;

  constructor(at_once: number) {
    this.#free = at_once;
  }

  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#line.wait();
    try {
      return await doFor(OWN_PARTY, async () => work());
    } finally {
      // Whoever is next goes on before anybody who comes now does.
      if (this.#line.isEmpty) this.#free += 1;
      else this.#line.next();
    }
  }
}
