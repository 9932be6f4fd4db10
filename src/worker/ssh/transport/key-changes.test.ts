import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SshFault } from './fault.ts';
import { KeyChanges } from './key-changes.ts';

const FREE = 64;
const KEXINIT = 20;
const DATA = 94;

function make(): { changes: KeyChanges; slept: number[]; pass(milliseconds: number): void } {
  let now = 1_000;
  const slept: number[] = [];
  const changes = new KeyChanges({
    elapsed: () => now,
    async sleep(milliseconds) {
      slept.push(milliseconds);
      now += milliseconds;
    },
  });
  return {
    changes,
    slept,
    pass(milliseconds) {
      now += milliseconds;
    },
  };
}

async function spendAll(changes: KeyChanges): Promise<void> {
  for (let nth = 0; nth < FREE; nth++) await changes.admit();
}

/** A peer whose changes are spent: whether it has one more, after what it does then. */
const afterwards: [
  why: string,
  isAdmitted: boolean,
  go: (of: ReturnType<typeof make>) => unknown,
][] = [
  ['nothing was carried', false, () => {}],
  ['it carried 16 KiB', true, ({ changes }) => changes.carried(Buffer.alloc(16 << 10, DATA))],
  [
    'it carried 16 KiB in pieces',
    true,
    ({ changes }) => {
      for (let nth = 0; nth < 16; nth++) changes.carried(Buffer.alloc(1024, DATA));
    },
  ],
  [
    'it carried a byte less',
    false,
    ({ changes }) => changes.carried(Buffer.alloc((16 << 10) - 1, DATA)),
  ],
  [
    'its offers alone were long',
    false,
    ({ changes }) => changes.carried(Buffer.alloc(64 << 10, KEXINIT)),
  ],
  ['a second went by', true, ({ pass }) => pass(1_000)],
  ['almost a second went by', false, ({ pass }) => pass(999)],
];

for (const [why, isAdmitted, go] of afterwards) {
  test(`a peer may ${isAdmitted ? '' : 'not '}change keys once more: ${why}`, async () => {
    const made = make();
    await spendAll(made.changes);
    go(made);
    if (isAdmitted) await made.changes.admit();
    await assert.rejects(made.changes.admit(), (error) => {
      assert.ok(error instanceof SshFault);
      assert.equal(error.message, 'it changes its keys too often');
      return true;
    });
  });
}

test('what was earned beyond what is free is not kept', async () => {
  const { changes } = make();
  for (let nth = 0; nth < 1_000; nth++) changes.carried(Buffer.alloc(16 << 10, DATA));
  await spendAll(changes);
  await assert.rejects(changes.admit(), SshFault);
});

const waits: [spent: number, passed: number, slept: number[], why: string][] = [
  [8, 0, [24], 'three times as long as the last one took'],
  [8, 20, [4], 'what is left of that'],
  [8, 24, [], 'not once it is over'],
  [5_000, 0, [250], 'no longer than a machine that stood still is worth'],
];

for (const [spent, passed, slept, why] of waits) {
  test(`a change waits: ${why}`, async () => {
    const made = make();
    await made.changes.admit();
    made.changes.spent(spent);
    made.pass(passed);
    await made.changes.admit();
    assert.deepEqual(made.slept, slept);
  });
}
