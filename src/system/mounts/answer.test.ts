import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testMount } from '../../../test/support/app.ts';
import type { Mount, MountKind } from '../../app/mount.ts';
import { encodeAnswer } from '../../http/vault/wire.ts';
import { presentKinds, presentMounts, type Said } from './answer.ts';

const about = ({ type, description }: Mount) => ({ type, description });

/** In two parts, of which either may be empty. */
function said(count: number, length: number, prefix = 'p'): Said {
  const mounts = Array.from({ length: count }, (_, at) => ({
    ...testMount({ kind: 'secret', path: `${prefix}"${at}/`, type: 'pki' }),
    description: 'x'.repeat(length),
  }));
  const half = Math.floor(count / 2);
  return [
    { mounts: mounts.slice(0, half), about },
    { mounts: mounts.slice(half), about },
  ];
}

const dataOf = (listing: Said): object =>
  Object.fromEntries(
    listing.flatMap(({ mounts }) => mounts.map((mount) => [mount.path, about(mount)])),
  );

type Listing = Said | Record<MountKind, Said>;

const CASES: [what: string, listing: Listing, data: object, isLong: boolean][] = [
  ['none', [], {}, false],
  ['a few', said(20, 10), dataOf(said(20, 10)), false],
  ['many', said(5_000, 400), dataOf(said(5_000, 400)), true],
  ['a long one', said(1, 40_000), dataOf(said(1, 40_000)), true],
  ['none of either kind', { secret: [], auth: [] }, { secret: {}, auth: {} }, false],
  [
    'many of one kind',
    { secret: said(900, 100), auth: [] },
    { secret: dataOf(said(900, 100)), auth: {} },
    true,
  ],
  [
    'many of the other',
    { secret: [], auth: said(900, 100) },
    { secret: {}, auth: dataOf(said(900, 100)) },
    true,
  ],
  [
    'many of both',
    { secret: said(900, 100), auth: said(900, 100, 'a') },
    { secret: dataOf(said(900, 100)), auth: dataOf(said(900, 100, 'a')) },
    true,
  ],
];

/** As it is sent, in pieces or at once. */
async function sent(listing: Listing, flat: boolean): Promise<string[]> {
  const encoding = { flat, media_type: undefined, status: undefined };
  const request = { id: 'r', mount_type: 'system', warnings: [], encoding };
  const presented = 'secret' in listing ? presentKinds(listing) : presentMounts(listing);
  const { body } = encodeAnswer(presented, request);
  if (typeof body === 'string') return [body];
  assert.ok(body && 'pieces' in body);
  const pieces: string[] = [];
  for await (const piece of body.pieces()) pieces.push(Buffer.from(piece).toString());
  return pieces;
}

for (const [what, listing, data, isLong] of CASES) {
  for (const flat of [false, true]) {
    const how = isLong ? 'piece by piece' : 'at once';
    test(`${what} ${flat ? 'in a flat answer ' : ''}is answered ${how}, and says the same`, async () => {
      const pieces = await sent(listing, flat);
      const whole: unknown = JSON.parse(pieces.join(''));
      const envelope = { request_id: 'r', lease_id: '', renewable: false, lease_duration: 0 };
      const rest = { wrap_info: null, warnings: null, auth: null, mount_type: 'system' };
      assert.deepEqual(whole, { ...(flat ? data : {}), ...envelope, data, ...rest });
      assert.equal(pieces.length > 1, isLong);
      // One mount more than a piece, since no mount is taken apart.
      for (const piece of pieces) assert.ok(piece.length <= (32 << 10) + 40_100, `${piece.length}`);
    });
  }
}
