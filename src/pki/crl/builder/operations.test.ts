import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { CRL_FRAME } from '../../../../test/support/list-frame.ts';
import { startTestServer } from '../../../../test/support/server.ts';
import { doFor } from '../../../core/fairness/asking.ts';
import type { CrlJob } from './job.ts';
import { remakeSignedCrl } from './operations.ts';

const { publicKey } = generateKeyPairSync('ed25519');
const signed = {
  signature: new Uint8Array(64),
  public_key: publicKey.export({ format: 'der', type: 'spki' }),
};

/** So many revocations that its CRL is made on the thread. */
const JOB: CrlJob = {
  content: {
    mount_id: 'm',
    scope: JSON.stringify({ members: ['a'], known: null, epoch: 0, empty: true }),
    revision: 1500,
  },
  basis: undefined,
  frame: CRL_FRAME,
  algorithm: 'PureEd25519',
  max_entries: -1,
};

const ASKERS: [address: string, place: number, why: string][] = [
  ['192.0.2.1', 5, 'one more of the same network is last'],
  ['198.51.100.1', 1, 'another network is next'],
];

test('a long CRL is not made after all those that one network asked for before', async (t) => {
  const { running } = await startTestServer(t);
  for (const [address, place, why] of ASKERS) {
    const order: string[] = [];
    const ask = (from: string, name: string): Promise<void> =>
      doFor(from, async () => {
        await remakeSignedCrl(running.app, JOB, signed);
        order.push(name);
      });
    const asked = Array.from({ length: 5 }, (_, at) => ask(`192.0.2.${at + 1}`, 'they'));
    asked.push(ask(address, 'one'));
    await Promise.all(asked);
    assert.equal(order.indexOf('one'), place, why);
  }
});
