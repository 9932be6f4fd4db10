import { ROOMS } from '../rooms.ts';
import { type Forgetful, PassingRoom, type Remembered } from './passing.ts';

const ROOM = new PassingRoom({ all: ROOMS.worked_out, one: ROOMS.worked_out / 2 });

/**
 * Something that was worked out of what is kept, and may take many times what that does: it is worked out again
 * where there was no room for it. Nobody who asked holds it longer than they need it.
 */
export class WorkedOut<Value> implements Forgetful {
  #value: Value | undefined;
  readonly #room: PassingRoom;
  readonly #part: Remembered;

  constructor(room = ROOM) {
    this.#room = room;
    this.#part = room.open(this);
  }

  get value(): Value | undefined {
    return this.#value;
  }

  /** @param bytes about what it takes */
  keep(value: Value, bytes: number): Value {
    this.#value = value;
    this.#room.grow(this.#part, bytes);
    return value;
  }

  /** Notes that what is kept takes more than it did. */
  grow(bytes: number): void {
    this.#room.grow(this.#part, bytes);
  }

  forget(): void {
    this.#value = undefined;
  }
}
