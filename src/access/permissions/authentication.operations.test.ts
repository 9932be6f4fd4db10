import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../test/support/app.ts';
import { eachEngine } from '../../../test/support/engines.ts';
import { heapUsed } from '../../../test/support/heap.ts';
import { mintToken } from '../tokens/minting.operations.ts';
import { planRootToken } from '../tokens/token.ts';
import { authenticate } from './authentication.operations.ts';

const TOKENS = 600;

eachEngine('tokens that are kept', (open) => {
  test('tokens with all the names and metadata that they may have take no more memory than others', async () => {
    const { app, clock } = await openTestApp(await open());
    const texts: string[] = [];
    for (let at = 0; at < TOKENS; at++) {
      const policies = Array.from({ length: 64 }, (_, name) => `p${at}-${name}-`.padEnd(1024, 'p'));
      const meta = { text: `${at}`.padEnd(65_000, 'm') };
      const minted = mintToken(app, { ...planRootToken(clock.now), policies, meta });
      await app.store.commit(minted.effects);
      texts.push(minted.client_token);
    }
    const before = heapUsed();
    for (const text of texts) assert.ok(await authenticate(app, text));
    const grown = heapUsed() - before;
    // Their names alone are 38 MiB, and stand in keys of several maps besides.
    assert.ok(grown < 70 << 20, `${grown >> 20} MiB more`);
  });
});
