import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Throttle } from './throttle.ts';

test('the twentieth failure within a minute closes, until the minute is over', () => {
  const throttle = new Throttle();
  for (let n = 0; n < 19; n++) throttle.fail('a', 100 + n);
  assert.equal(throttle.isOpen('a', 119), true);
  throttle.fail('a', 119);
  assert.equal(throttle.isOpen('a', 159), false);
  assert.equal(throttle.isOpen('b', 159), true, 'others are not touched');
  assert.equal(throttle.isOpen('a', 160), true);
  throttle.fail('a', 160);
  assert.equal(throttle.isOpen('a', 161), true, 'counting begins anew');
});
