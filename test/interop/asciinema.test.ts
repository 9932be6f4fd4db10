import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Asciicast, castHeader } from '../../src/worker/recording/asciicast.ts';
import type { ChannelFacts } from '../../src/worker/ssh/watching.ts';
import { findTool } from '../support/tools.ts';

const python = findTool('python/bin/python');
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-casts-'));

function asciinema(...args: string[]) {
  return spawnSync(python.path, ['-m', 'asciinema', ...args], {
    env: { ...process.env, ASCIINEMA_CONFIG_HOME: folder, LC_ALL: 'C.UTF-8' },
  });
}

function cast(facts: ChannelFacts): string {
  const made = new Asciicast(facts, { began: 0, keepsInput: true });
  const text = [
    castHeader(facts, 1_790_000_000_000),
    made.take(Buffer.from('gr\xc3', 'latin1'), 'stdout', 10),
    made.take(Buffer.from('\xbc\xc3\x9fe "\\" \u0007\r\n', 'latin1'), 'stdout', 20),
    made.take(Buffer.from('typed'), 'stdin', 25),
    made.resize(120, 40, 30),
    made.take(Buffer.from([0, 255, 128]), 'stdout', 40),
    made.take(Buffer.from('\u001b[31merror\u001b[0m\r\n'), 'stderr', 50),
    made.finish({ status: 0 }, 60),
  ];
  const path = join(folder, `${facts.pty ? 'shell' : 'exec'}.cast`);
  writeFileSync(path, text.join(''));
  return path;
}

const kinds: [facts: ChannelFacts, shown: string][] = [
  [
    { type: 'session', program: 'shell', pty: { term: 'xterm', columns: 80, rows: 24 } },
    'grüße "\\" \u0007\r\n\0\ufffd\ufffd\u001b[31merror\u001b[0m\r\n',
  ],
  [
    { type: 'session', program: 'exec', command: 'make' },
    'grüße "\\" \u0007\r\n\u001b[31merror\u001b[0m\r\n',
  ],
];
for (const [facts, shown] of kinds) {
  const what = facts.pty ? 'a shell' : 'a command';
  test(`asciinema reads what was recorded of ${what}, and plays it`, { skip: python.skip }, () => {
    const path = cast(facts);
    const read = asciinema('cat', path);
    assert.equal(read.status, 0, String(read.stderr));
    assert.equal(String(read.stdout), shown);
    const played = asciinema('play', '--speed', '10', path);
    assert.equal(played.status, 0, String(played.stderr));
    assert.ok(String(played.stdout).includes('error'));
  });
}
