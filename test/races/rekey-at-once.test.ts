// Two rekeyings of the same shares, on one node and on two: the answer that hands out shares, warned or not,
// tells of shares that open the server. The other rekeying is refused.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LEFT_ALONE } from '../../src/seal/rekey/next-seal.ts';
import { eachPlace } from '../support/engines.ts';
import { must } from '../support/racing.ts';
import {
  almostVerified,
  authorise,
  begin,
  besides,
  give,
  installRekeying,
  NEVER,
  put,
  rekeyOn,
  sharesOf,
} from '../support/rekeying.ts';

const ON_THEIR_WAY = /another rekeying is being put in force/;

eachPlace('two rekeyings', (newPlace, engine) => {
  for (const type of ['shamir', 'keyfile'] as const) {
    for (const late of ['first', 'second'] as const) {
      test(`of which the ${late} is slower to store its seal: it is refused, and the shares of the other authorise (${type})`, async (t) => {
        const bench = await installRekeying(t, await newPlace(), type);
        const { a, b, path, shares } = bench;
        const [slow, quick] = late === 'first' ? [a, b] : [b, a];
        const nonce = await begin(slow, path);
        await must(put(slow, `${path}/update`, { key: shares[0], nonce }));
        const gate = Promise.withResolvers<void>();
        slow.first.push(gate.promise);
        const reached = slow.stepped('first');
        const refused = put(slow, `${path}/update`, { key: shares[1], nonce });
        await reached;
        quick.second.push(...NEVER);
        const done = await rekeyOn(quick, path, shares).finally(gate.resolve);
        quick.second.length = 0;
        const answer = await refused;
        assert.equal(answer.status, 400, answer.text);
        assert.match(answer.text, /start over/);
        assert.match(done.text, /did not confirm/);
        assert.ok(await authorise(bench, sharesOf(await must(Promise.resolve(done)))));
        assert.deepEqual(await besides(b), []);
      });
    }

    test(`of which one is not confirmed yet: the other waits without losing a share, and may when that is answered (${type})`, async (t) => {
      const bench = await installRekeying(t, await newPlace(), type);
      const { a, path, shares } = bench;
      a.second.push(...NEVER);
      const reached = a.stepped('second');
      const first = rekeyOn(a, path, shares);
      await reached;
      const nonce = await begin(a, path);
      const early = await put(a, `${path}/update`, { key: shares[0], nonce });
      assert.equal(early.status, 400, early.text);
      assert.match(early.text, ON_THEIR_WAY);
      const done = await must(first);
      a.second.length = 0;
      assert.match(done.text, /did not confirm/);
      const made = sharesOf(await must(give(a, `${path}/update`, shares, nonce)));
      assert.deepEqual(await besides(a), []);
      assert.ok(await authorise(bench, made));
    });
  }

  if (engine !== 'postgres') return;

  for (const type of ['shamir', 'keyfile'] as const) {
    test(`of which one is not confirmed and the other verified: what is answered first authorises (${type})`, async (t) => {
      const bench = await installRekeying(t, await newPlace(), type);
      const { a, b, path, shares } = bench;
      const { made, nonce } = await almostVerified(b, path, shares);
      await must(put(b, `${path}/verify`, { key: made[0], nonce }));
      a.second.push(...NEVER);
      const done = await must(rekeyOn(a, path, shares));
      const refused = await put(b, `${path}/verify`, { key: made[1], nonce });
      assert.equal(refused.status, 400, refused.text);
      assert.match(refused.text, ON_THEIR_WAY);
      assert.ok(await authorise(bench, sharesOf(done)));
      const late = await put(b, `${path}/verify`, { key: made[1], nonce });
      assert.match(late.text, /start over/);
    });
  }

  test('of which the verified one had nearly been written when the other was stored: it is refused', async (t) => {
    const bench = await installRekeying(t, await newPlace(), 'shamir');
    const { a, b, path, shares } = bench;
    const { made, nonce } = await almostVerified(b, path, shares);
    await must(put(b, `${path}/verify`, { key: made[0], nonce }));
    const gate = Promise.withResolvers<void>();
    b.second.push(gate.promise);
    const reached = b.stepped('second');
    const refused = put(b, `${path}/verify`, { key: made[1], nonce });
    await reached;
    a.second.push(...NEVER);
    const done = await must(rekeyOn(a, path, shares).finally(gate.resolve));
    const answer = await refused;
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, /start over/);
    assert.ok(!(await authorise(bench, made)));
    assert.ok(await authorise(bench, sharesOf(done)));
  });

  for (const { after, granted } of [
    { after: LEFT_ALONE - 1000, granted: false },
    { after: LEFT_ALONE, granted: true },
  ]) {
    test(`another node ${granted ? 'takes the place of' : 'leaves alone'} a seal that it has seen for ${after} ms`, async (t) => {
      const bench = await installRekeying(t, await newPlace(), 'shamir');
      const { a, b, path, shares } = bench;
      a.second.push(...NEVER);
      const left = sharesOf(await must(rekeyOn(a, path, shares)));
      const nonce = await begin(b, path);
      b.clock.ahead = after;
      const share = await put(b, `${path}/update`, { key: shares[0], nonce });
      assert.equal(share.status, granted ? 200 : 400, share.text);
      if (!granted) return assert.ok(await authorise(bench, left));
      const done = await must(put(b, `${path}/update`, { key: shares[1], nonce }));
      assert.ok(await authorise(bench, sharesOf(done)));
    });
  }
});
