import { AskingLine } from './asking-line.ts';

/**
 * Work of which a few pieces are under way at the same time, because each takes much memory until it is
 * done; others wait in turn, by site, address and request.
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
      return await work();
    } finally {
      // Whoever is next goes on before anybody who comes now does.
      if (this.#line.isEmpty) this.#free += 1;
      else this.#line.next();
    }
  }
}
