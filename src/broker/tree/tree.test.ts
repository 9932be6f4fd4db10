import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Scope } from '../resource.ts';
import { buildTree, listSubtree } from './tree.ts';

test('beneath a scope there may be hundreds of thousands', () => {
  const scope = (id: string, parent_scope_id: string) => ({ id, parent_scope_id }) as Scope;
  const projects = Array.from({ length: 200_000 }, (_, at) => scope(`p_${at}`, 'o_1'));
  const tree = buildTree([scope('global', ''), scope('o_1', 'global'), ...projects]);
  const found = listSubtree(tree, 'global');
  assert.equal(found.length, 200_002);
  assert.deepEqual(found.slice(0, 3), ['global', 'o_1', 'p_0']);
  assert.deepEqual(listSubtree(tree, 'p_7'), ['p_7']);
});
