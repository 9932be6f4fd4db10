import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testMount } from '../../test/support/app.ts';
import type { Mount } from '../app/mount.ts';
import { findMount } from './router.ts';

test('of a path with thousands of segments no more is looked up than mounts have lengths', () => {
  let asked = 0;
  class Counted extends Map<string, Mount> {
    override get(path: string): Mount | undefined {
      asked += 1;
      return super.get(path);
    }
  }
  const mounts = new Counted(
    ['pki/', 'team/pki/'].map((path) => [path, testMount({ kind: 'secret', path, type: 'pki' })]),
  );
  const rest = 'a/'.repeat(4000);
  assert.equal(findMount(mounts, `team/pki/${rest}`)?.mount.path, 'team/pki/');
  asked = 0;
  assert.equal(findMount(mounts, `a/${rest}`), undefined);
  assert.ok(asked <= 3, `${asked}`);
});
