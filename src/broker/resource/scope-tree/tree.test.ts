import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Scope } from '../resource.ts';
import { countSubtree, GrowingTree, listSubtree } from './tree.ts';

function scopeOf(id: string, parent_scope_id: string, name = id): Scope {
  const type = id === 'global' ? 'global' : id.startsWith('o_') ? 'org' : 'project';
  return { id, type, name, description: null, parent_scope_id, primary_auth_method_id: '' };
}

function treeOf(...scopes: Scope[]): GrowingTree {
  const tree = new GrowingTree();
  for (const scope of scopes) tree.put(scope);
  return tree;
}

test('beneath a scope there may be hundreds of thousands', () => {
  const projects = Array.from({ length: 200_000 }, (_, at) => scopeOf(`p_${at}`, 'o_1'));
  const tree = treeOf(scopeOf('global', ''), scopeOf('o_1', 'global'));
  for (const project of projects) tree.put(project);
  const found = listSubtree(tree, 'global');
  assert.equal(found.length, 200_002);
  assert.equal(countSubtree(tree, 'global'), 200_002);
  assert.equal(countSubtree(tree, 'o_1'), 200_001);
  assert.equal(countSubtree(tree, 'p_7'), 1);
  assert.equal(countSubtree(tree, 'p_none'), 1);
  assert.deepEqual(found.slice(0, 3), ['global', 'o_1', 'p_0']);
  assert.deepEqual(listSubtree(tree, 'p_7'), ['p_7']);
});

test('a scope that changes is there once, and one that goes is nowhere', () => {
  const tree = treeOf(
    scopeOf('global', ''),
    scopeOf('o_1', 'global'),
    scopeOf('p_1', 'o_1'),
    scopeOf('p_2', 'o_1'),
  );
  tree.put(scopeOf('p_1', 'o_1', 'renamed'));
  assert.equal(tree.byId.get('p_1')?.name, 'renamed');
  assert.deepEqual(tree.counts, { global: 1, org: 1, project: 2 });
  assert.deepEqual(listSubtree(tree, 'o_1').sort(), ['o_1', 'p_1', 'p_2']);
  tree.remove('p_1');
  tree.remove('p_1');
  tree.remove('p_none');
  assert.deepEqual(tree.counts, { global: 1, org: 1, project: 1 });
  assert.deepEqual(listSubtree(tree, 'global'), ['global', 'o_1', 'p_2']);
  tree.remove('p_2');
  assert.equal(tree.children.has('o_1'), false);
});
