// Mounts of a server that tests ask for CRLs, and certificates of theirs.

import assert from 'node:assert/strict';
import { encodePem } from '../../src/core/pem.ts';
import type { Client } from './server.ts';

type Call = Client['call'];

/** A mount with a root that ends in a year, and the role `any` for certificates of 700 hours. */
export async function newCrlMount(call: Call, mount: string): Promise<void> {
  await call('POST', `sys/mounts/${mount}`, {
    type: 'pki',
    config: {
      max_lease_ttl: '87600h',
      passthrough_request_headers: ['If-Modified-Since'],
      allowed_response_headers: ['Last-Modified'],
    },
  });
  const root = { common_name: 'R', key_type: 'ec', ttl: '8760h', issuer_name: 'first' };
  assert.equal((await call('POST', `${mount}/root/generate/internal`, root)).status, 200);
  const role = { allow_any_name: true, key_type: 'ec', max_ttl: '720h', ttl: '700h' };
  await call('POST', `${mount}/roles/any`, role);
}

export interface Issued {
  serial: string;
  /** PEM. */
  certificate: string;
}

/** A certificate of the role `any` of the mount `pki`. */
export async function issueOne(call: Call): Promise<Issued> {
  const issued = await call('POST', 'pki/issue/any', { common_name: 'a.example' });
  return {
    serial: issued.textAt('data.serial_number'),
    certificate: issued.textAt('data.certificate'),
  };
}

/** A CRL of the mount `pki`, PEM. */
export async function readCrlPem(call: Call, path: string): Promise<string> {
  const { status, bytes, text } = await call('GET', `pki/${path}`);
  assert.equal(status, 200, text);
  return `${encodePem('X509 CRL', bytes)}\n`;
}

let mounts = 0;

/** An empty mount of its own for a test, with its path. */
export async function newAuthorityMount(call: Call): Promise<string> {
  mounts += 1;
  const path = `ca${mounts}`;
  const config = { max_lease_ttl: '87600h' };
  assert.equal((await call('POST', `sys/mounts/${path}`, { type: 'pki', config })).status, 204);
  return path;
}
