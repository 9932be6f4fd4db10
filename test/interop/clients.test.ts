/** hvac and node-vault, as their users have them, do the main job against a running server. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { makeCsr } from '../support/leaves.ts';
import { startTestServer } from '../support/server.ts';
import { findTool } from '../support/tools.ts';

const python = findTool('python/bin/python');
const nodeVault = findTool('node-vault/node_modules/node-vault');
const csr = makeCsr({ subject: { common_name: 'signed.example.com' } });

/** Runs a client to its end while this process serves it. */
async function run(command: string, args: string[], input = '', env = {}): Promise<string> {
  const child = spawn(command, args, {
    cwd: import.meta.dirname,
    env: { PATH: process.env.PATH, ...env },
    timeout: 120_000,
  });
  child.stdin.end(input);
  const [out, err, status] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.on('close', resolve)),
  ]);
  assert.equal(status, 0, out + err);
  return out;
}

/** A production server has no seal keys and no token until somebody initialises it. */
const newServer: Partial<Config> = {
  mode: 'server',
  seal: { type: 'shamir' },
  dev_root_token: undefined,
};

test('hvac does the main job', { skip: python.skip }, async (t) => {
  const { url } = await startTestServer(t);
  const said = await run(python.path, ['main-job.py', url, 'root'], csr);
  assert.match(said, /hvac did the main job/);
});

test('hvac initialises and unseals a new server', { skip: python.skip }, async (t) => {
  const { url } = await startTestServer(t, { config: newServer });
  assert.match(await run(python.path, ['new-server.py', url]), /hvac unsealed the server/);
});

test('node-vault does the main job', { skip: nodeVault.skip }, async (t) => {
  const { url } = await startTestServer(t);
  const args = ['node-vault-job.mjs', nodeVault.path, url, 'root'];
  assert.match(await run(process.execPath, args, csr), /node-vault did the main job/);
});
