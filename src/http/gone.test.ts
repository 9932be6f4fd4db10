import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { onGone } from './gone.ts';

function open(): { response: ServerResponse; leave(): Promise<void> } {
  const socket = new Socket();
  const response = new ServerResponse(new IncomingMessage(socket));
  response.assignSocket(socket);
  return {
    response,
    async leave() {
      socket.destroy();
      while (!response.closed) await nextTurn();
    },
  };
}

const cases: [when: string, asksAfter: boolean, isTakenBack: boolean, told: number][] = [
  ['somebody goes', false, false, 1],
  ['somebody has gone before it is asked', true, false, 1],
  ['somebody goes whom nobody waits for any more', false, true, 0],
  ['somebody has gone whom nobody waits for any more', true, true, 0],
];
for (const [when, asksAfter, isTakenBack, told] of cases) {
  test(`${told === 1 ? 'it is told once' : 'nothing is told'} when ${when}`, async () => {
    const { response, leave } = open();
    let count = 0;
    if (asksAfter) await leave();
    const takeBack = onGone(response, () => {
      count += 1;
    });
    assert.equal(count, 0, 'never at once');
    if (isTakenBack) takeBack();
    if (!asksAfter) await leave();
    await nextTurn();
    assert.equal(count, told);
  });
}
