import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';

const MODULE = new URL('./stdout.store.ts', import.meta.url).href;
const record = (seq: number): string =>
  `{ node: 'a', seq: ${seq}, prev_hash: new Uint8Array(32), hash: new Uint8Array(32), record: '{}', time_ms: 0 }`;
const SCRIPT = `
  const { openStdoutSink } = await import(${JSON.stringify(MODULE)});
  const sink = openStdoutSink();
  await sink.put([${record(1)}]);
  await sink.close();
  const error = await sink.put([${record(2)}]).catch((error) => error);
  process.stderr.write(String(error?.name));
`;

/** What a program of its own puts, and how that ends. */
function run(stdout: 'pipe' | number): { out: string; err: string } {
  const given = ['--input-type=module', '-e', SCRIPT];
  const ended = spawnSync(process.execPath, given, { stdio: ['ignore', stdout, 'pipe'] });
  return { out: String(ended.stdout ?? ''), err: String(ended.stderr) };
}

const ways: [what: string, put: (t: TestContext) => { out: string; err: string }][] = [
  ['a pipe', () => run('pipe')],
  [
    'a file',
    (t) => {
      const directory = mkdtempSync(join(tmpdir(), 'gatehouse-sink-'));
      t.after(() => rmSync(directory, { recursive: true, force: true }));
      const path = join(directory, 'out');
      const file = openSync(path, 'w');
      const { err } = run(file);
      closeSync(file);
      return { out: readFileSync(path, 'utf8'), err };
    },
  ],
];
for (const [what, put] of ways) {
  test(`on standard output that is ${what} nothing is put once the sink was closed`, (t) => {
    const { out, err } = put(t);
    assert.equal(err, 'AbortError');
    assert.match(out, /"seq":1\b/);
    assert.doesNotMatch(out, /"seq":2\b/);
  });
}
