import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokerRoutes } from '../../broker/routes.ts';
import { compileBoundaryRoutes, decodeBoundaryPath, isBoundaryTarget } from './path.ts';

const router = compileBoundaryRoutes(brokerRoutes);

const rows: [target: string, outcome: string | number, why: string][] = [
  ['/v1/targets', 'list-targets ', 'a collection'],
  ['/v1/targets?scope_id=p_1', 'list-targets ', 'with a query'],
  ['/v1/targets/ttcp_1', 'read-target ttcp_1', 'an item'],
  ['/v1/targets/ttcp_1%252F..', 'read-target ttcp_1%2F..', 'decoded once'],
  ['/v1/targets/a%20b', 'read-target a b', 'a blank in an id'],
  ['/v1/targets/ttcp_1%2Fx', 404, 'an encoded slash is one'],
  ['/v1/targets/..%2Froles', 404, 'no path leads out'],
  ['/v1/targets/a/b:authorize-session', 'authorize-session-target a/b', 'a name with a slash'],
  ['/v1/targets/a:b:authorize-session', 'authorize-session-target a:b', 'a name with a colon'],
  ['/v1/targets/a/b:add-host-sources', 404, 'of that verb alone'],
  ['/v1/workers:create:controller-led', 'create-worker-controller-led ', 'a verb of a collection'],
  ['/v1/targets/ttcp_1:fly', 400, 'no known verb'],
  ['/v1/targets/ttcp_1:cancel', 405, 'a verb of another resource'],
  ['/v1/targets:fly', 400, 'no known verb of a collection'],
  ['/v1/targets:cancel', 405, 'a verb of items'],
  ['/v1/tar%67ets/ttcp_1', 'read-target ttcp_1', 'the resource may be encoded'],
  ['/v1/targetz/ttcp_1', 404, 'no known resource'],
];

for (const [target, outcome, why] of rows) {
  test(`${target}: ${why}`, () => {
    const path = decodeBoundaryPath(target);
    assert.ok(path !== undefined);
    const found = router.find(path);
    if ('refused' in found) assert.equal(found.refused, outcome);
    else {
      const route = found.routes.GET ?? found.routes.POST;
      assert.equal(`${route?.id} ${found.id}`, outcome);
    }
  });
}

test('what cannot be decoded, or does not print, is no path', () => {
  for (const target of ['/v1/targets/%', '/v1/targets/%00', '/v1/targets/%ff', '/v1/targets/%0a']) {
    assert.equal(decodeBoundaryPath(target), undefined, target);
  }
});

test('the first segment says which API a request is for', () => {
  for (const target of ['/v1/targets', '/v1/workers:x', '/v1/scopes/global?x', '/v1/tar%67ets']) {
    assert.ok(isBoundaryTarget(target), target);
  }
  for (const target of [
    '/v1/pki/targets',
    '/v1/targetz',
    '/v1/',
    '/v2/targets',
    '/v1/%',
    '/v1/sys',
  ]) {
    assert.ok(!isBoundaryTarget(target), target);
  }
});
