import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../core/failure.ts';
import {
  type AutoTidyPatch,
  autoTidyPatchSchema,
  cutoffOf,
  describeAutoTidy,
  parseAutoTidy,
  planAutoTidy,
  planTidy,
  tidySchema,
} from './fields.ts';

const NOW = 1_800_000_000;
const BUFFERS: [buffer: number, why: string][] = [
  [1, 'the shortest'],
  [0, 'none, as no request may have it'],
  [-1, 'a negative one'],
  [-NOW, 'one that would mean the far future'],
  [Number.MIN_SAFE_INTEGER, 'the most negative one'],
  [NOW, 'as long as there is time'],
  [9_223_372_036, 'the longest duration'],
  [Number.MAX_SAFE_INTEGER, 'the largest number'],
  [Number.MAX_VALUE, 'what is no count of seconds'],
  [Number.POSITIVE_INFINITY, 'without end'],
  [Number.NaN, 'no number'],
];

for (const [buffer, why] of BUFFERS) {
  test(`nothing that has not ended is ever tidied, with a buffer of ${buffer}: ${why}`, () => {
    for (const now of [NOW, NOW + 0.9, 0, 1]) {
      const cutoff = cutoffOf(now, buffer);
      assert.ok(Number.isSafeInteger(cutoff) && cutoff >= 0 && cutoff <= Math.max(0, now - 1));
    }
  });
}

test('what ended longer ago than the buffer is tidied, to the second', () => {
  assert.equal(cutoffOf(NOW, 3600), NOW - 3600);
});

const refusedTidy: [sent: Record<string, unknown>, words: RegExp][] = [
  [{ safety_buffer: 0 }, /^safety_buffer must be greater than zero$/],
  [{ revoked_safety_buffer: '0' }, /^revoked_safety_buffer must be greater than zero$/],
  [{ issuer_safety_buffer: 0 }, /^issuer_safety_buffer must be greater than zero$/],
  [{ acme_account_safety_buffer: 0 }, /^acme_account_safety_buffer must be greater than zero$/],
  [{ revocation_queue_safety_buffer: 0 }, /^revocation_queue_safety_buffer must be greater than/],
  [{ pause_duration: 'soon' }, /^Error parsing pause_duration/],
  [{ pause_duration: '-1s' }, /^Error parsing pause_duration/],
  [{ page_size: 0 }, /^page_size must be greater than zero$/],
];

for (const [sent, words] of refusedTidy) {
  test(`a tidying with ${JSON.stringify(sent)} is refused`, () => {
    assert.throws(
      () => planTidy(tidySchema.parse(sent)),
      (error) => error instanceof Failure && error.kind === 'invalid' && words.test(error.message),
    );
  });
}

test('revoked certificates have the buffer of all others unless they have their own', () => {
  const planned = (sent: object) => planTidy(tidySchema.parse(sent)).revoked_safety_buffer;
  assert.equal(planned({ safety_buffer: '1h' }), 3600);
  assert.equal(planned({ safety_buffer: '1h', revoked_safety_buffer: '2h' }), 7200);
});

test('the old name of tidy_revoked_certs does the same', () => {
  const planned = planTidy(tidySchema.parse({ tidy_revocation_list: true }));
  assert.equal(planned.tidy_revoked_certs, true);
  assert.equal(Object.hasOwn(planned, 'tidy_revocation_list'), false);
});

const plan = (present: string, sent: Record<string, unknown>) =>
  planAutoTidy(parseAutoTidy(present), autoTidyPatchSchema.parse(sent) as AutoTidyPatch);

const refusedAuto: [sent: Record<string, unknown>, words: RegExp][] = [
  [{ enabled: true }, /^Auto-tidy enabled but no tidy operations were requested/],
  [{ safety_buffer: 0 }, /^given safety_buffer must be at least one second$/],
  [{ issuer_safety_buffer: '0s' }, /^given issuer_safety_buffer must be at least one second$/],
  [{ publish_stored_certificate_count_metrics: true }, /without first maintaining that count/],
  [{ min_startup_backoff_duration: '1h' }, /^max_startup_backoff_duration must be/],
  [{ pause_duration: 'never' }, /^Error parsing pause_duration/],
  [{ interval_duration: '0s' }, /^given interval_duration must be at least one second$/],
  [{ page_size: -5 }, /^page_size must be greater than zero$/],
];

for (const [sent, words] of refusedAuto) {
  test(`automatic tidying with ${JSON.stringify(sent)} is refused`, () => {
    assert.throws(
      () => plan('', sent),
      (error) => error instanceof Failure && error.kind === 'invalid' && words.test(error.message),
    );
  });
}

test('an interval of a second is taken, and one of nothing that was stored stays until it is sent', () => {
  assert.equal(plan('', { interval_duration: '1s' }).interval_duration, 1);
  const stored = JSON.stringify({ ...plan('', {}), interval_duration: 0 });
  assert.equal(plan(stored, { page_size: 5 }).interval_duration, 0);
});

test('a configuration that was written by parts reads back whole', () => {
  const first = plan('', { enabled: true, tidy_cert_store: true, safety_buffer: '1h' });
  const next = plan(JSON.stringify(first), { pause_duration: '10s', interval_duration: '1d' });
  const read = describeAutoTidy(next);
  assert.equal(read.enabled, true);
  assert.equal(read.tidy_cert_store, true);
  assert.equal(read.pause_duration, '10s');
  assert.equal(read.interval_duration, 86_400);
  assert.equal(read.revoked_safety_buffer, 3600);
});
