import { setTimeout as wait } from 'node:timers/promises';
import { invalid } from '../../core/failure.ts';
import { linesOf, parseEvent, parseHeader } from './cast-lines.ts';
import { ScreenText } from './screen-text.ts';

export interface Pace {
  /** 2: twice as fast. */
  speed: number;
  /** No pause is longer than so many seconds; infinite: as long as it was. */
  idle_limit: number;
}

interface Screen {
  write(text: string): void | Promise<void>;
  /** Milliseconds by a clock that only goes on. */
  elapsed(): number;
  sleep(milliseconds: number): Promise<void>;
}

/** The terminal that this program runs in. */
export const TERMINAL: Screen = {
  write: (text) =>
    new Promise((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
    }),
  elapsed: () => performance.now(),
  sleep: (milliseconds) => wait(milliseconds),
};

/**
 * Plays an asciicast at its pace.
 *
 * @returns how it ended, as its recorder told
 * @throws Failure `invalid` for what is none
 */
export async function play(
  pieces: AsyncIterable<Uint8Array>,
  { speed, idle_limit }: Pace,
  screen: Screen = TERMINAL,
): Promise<string> {
  const text = new ScreenText();
  let isBegun = false;
  let last = 0;
  /** When what was shown last was due. */
  let due = screen.elapsed();
  let told = '';
  for await (const line of linesOf(pieces)) {
    if (!isBegun) {
      parseHeader(line);
      isBegun = true;
      continue;
    }
    const { time, code, data } = parseEvent(line);
    const pause = Math.min(Math.max(0, time - last), idle_limit);
    last = time;
    due += (pause / speed) * 1000;
    const left = due - screen.elapsed();
    if (left > 0) await screen.sleep(left);
    if (code === 'o') await screen.write(text.take(data));
    if (code === 'm') told = data;
  }
  if (!isBegun) throw invalid('this is no asciicast: nothing is in it');
  return told;
}
