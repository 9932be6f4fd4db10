import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import { type Pace, play } from './player.ts';

async function* piecesOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const HEADER = '{"version":2,"width":80,"height":24}\n';
const CAST = `${HEADER}[0.5,"o","grü"]\n[0.5,"i","typed"]\n[2.5,"o","ße"]\n[100,"r","90x20"]\n[101,"b","stdout:AA=="]\n[102.5,"o","!"]\n[103,"m","exit status 0"]\n`;

/** @returns what was shown, and after how many seconds each */
async function playAt(pace: Partial<Pace>, size = 5) {
  let now = 0;
  const shown: [seconds: number, text: string][] = [];
  const told = await play(
    piecesOf(CAST, size),
    { speed: 1, idle_limit: Number.POSITIVE_INFINITY, ...pace },
    {
      write: (text) => void shown.push([now / 1000, text]),
      elapsed: () => now,
      async sleep(milliseconds) {
        now += milliseconds;
      },
    },
  );
  return { shown, told };
}

test('a recording plays at its pace', async () => {
  const { shown, told } = await playAt({});
  assert.deepEqual(shown, [
    [0.5, 'grü'],
    [2.5, 'ße'],
    [102.5, '!'],
  ]);
  assert.equal(told, 'exit status 0');
});

test('it plays faster, and no pause is longer than is wanted', async () => {
  const times = (pace: Partial<Pace>) =>
    playAt(pace).then(({ shown }) => shown.map(([seconds]) => seconds));
  assert.deepEqual(await times({ speed: 4 }), [0.125, 0.625, 25.625]);
  assert.deepEqual(await times({ idle_limit: 1 }), [0.5, 1.5, 4.5]);
  assert.deepEqual(await times({ idle_limit: 1, speed: 2 }), [0.25, 0.75, 2.25]);
});

for (const size of [1, 1000]) {
  test(`it plays the same in pieces of ${size} bytes`, async () => {
    const { shown } = await playAt({}, size);
    assert.equal(shown.map(([, text]) => text).join(''), 'grüße!');
  });
}

const wrong: [text: string, why: string][] = [
  ['', 'nothing'],
  ['{"version":1,"width":80,"height":24,"stdout":[]}\n', 'another version'],
  ['{"version":2,"width":0,"height":24}\n', 'no size'],
  ['[0,"o","x"]\n', 'no header'],
  [`${HEADER}[0,"o"]\n`, 'half an event'],
  [`${HEADER}{"0":"o"}\n`, 'no event'],
  [`${HEADER}[-1,"o","x"]\n`, 'before the beginning'],
  [`${HEADER}[0,"o","x`, 'an event that is cut'],
];
for (const [text, why] of wrong) {
  test(`what is no asciicast is refused: ${why}`, async () => {
    const screen = { write() {}, elapsed: () => 0, async sleep() {} };
    await assert.rejects(
      play(piecesOf(text, 10), { speed: 1, idle_limit: 1 }, screen),
      (error) => error instanceof Failure && error.kind === 'invalid',
    );
  });
}
