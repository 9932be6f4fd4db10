/** A real server of the S3 protocol, over a folder. */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from './free-port.ts';
import { findTool, type Tool } from './tools.ts';

const [, VERSION = ''] =
  /versity\/versitygw (v\S+)/.exec(
    readFileSync(new URL('../interop/versitygw/go.mod', import.meta.url), 'utf8'),
  ) ?? [];

export const VERSITYGW: Tool = findTool(`versitygw-${VERSION}/versitygw`);

export interface Gateway {
  url: string;
  /** What it keeps its objects in, a folder for each bucket. */
  folder: string;
  stop(): Promise<void>;
}

export async function startGateway(
  keys: { access_key_id: string; secret_access_key: string },
  bucket: string,
): Promise<Gateway> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-versitygw-'));
  await mkdir(join(folder, bucket));
  const port = await freePort();
  const child = spawn(
    VERSITYGW.path,
    [
      '--quiet',
      '--port',
      `127.0.0.1:${port}`,
      '--region',
      'eu-north-1',
      'posix',
      '--nometa',
      folder,
    ],
    {
      stdio: 'ignore',
      env: {
        ...process.env,
        ROOT_ACCESS_KEY: keys.access_key_id,
        ROOT_SECRET_KEY: keys.secret_access_key,
      },
    },
  );
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  for (let tries = 0; !(await isOpen(port)); tries += 1) {
    if (tries > 100 || child.exitCode !== null) throw new Error('versitygw does not come up');
    await wait(100);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    folder,
    async stop() {
      child.kill();
      await gone;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
