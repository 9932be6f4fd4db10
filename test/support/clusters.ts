// Servers of several clusters at one database, for tests.

import { setTimeout as wait } from 'node:timers/promises';
import { parsePem } from '../../src/core/pem.ts';
import { readMountsById } from '../../src/mounts/operations.ts';
import { revocationJobs } from '../../src/pki/revocation/jobs.ts';
import { listRequestsTo } from '../../src/pki/revocation/requests.store.ts';
import { runIfFree } from '../../src/start/jobs.ts';
import type { Running } from '../../src/start/server.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import { type Crl, parseCrl } from './crl.ts';
import type { Place } from './engines.ts';
import { newDirectory, type Scope } from './node-process.ts';
import { encodeOcspRequest } from './ocsp-request.ts';
import { configAt } from './placed-server.ts';
import { must } from './racing.ts';
import { type Client, startTestServer } from './server.ts';

export type Call = Client['call'];

/** Servers of clusters by name, one each: side by side on PostgreSQL, one after the other on SQLite. */
export class Clusters {
  readonly #place: Place;
  readonly #directory: string;
  readonly #side: boolean;
  readonly #servers = new Map<
    string,
    { call: Call; running: Running; stops: (() => Promise<void>)[] }
  >();
  #root = '';

  constructor(scope: Scope, place: Place, engine: string) {
    this.#place = place;
    this.#directory = newDirectory(scope);
    this.#side = engine === 'postgres';
    scope.after(() => this.stop());
  }

  async stop(): Promise<void> {
    for (const name of [...this.#servers.keys()]) await this.leave(name);
  }

  /** The server of a cluster goes; it comes back when it is asked for. */
  async leave(cluster_name: string): Promise<void> {
    const server = this.#servers.get(cluster_name);
    this.#servers.delete(cluster_name);
    for (const stop of server?.stops ?? []) await stop();
  }

  async at(cluster_name: string): Promise<Call> {
    const known = this.#servers.get(cluster_name);
    if (known) return known.call;
    if (!this.#side) await this.stop();
    const node_name = cluster_name || 'unnamed';
    const stops: (() => Promise<void>)[] = [];
    const scope = { after: (stop: () => Promise<void>) => void stops.push(stop) };
    const config = { ...configAt(this.#place, this.#directory, { node_name }), cluster_name };
    const { call, running } = await startTestServer(scope, { config });
    if (this.#root === '') {
      this.#root = (await call('PUT', 'sys/init', {}, { token: '' })).textAt('root_token');
    }
    const made: Call = (method, path, body, options) =>
      call(method, path, body, { token: this.#root, ...options });
    this.#servers.set(cluster_name, { call: made, running, stops });
    return made;
  }

  /** Has a cluster do what others ask it for, which it does by itself from time to time. */
  async carryOut(cluster_name: string): Promise<Call> {
    const call = await this.at(cluster_name);
    const app = this.#servers.get(cluster_name)?.running.app;
    const first = { cluster: cluster_name, mount_id: '', serial: '', limit: 1 };
    // Its own run may be under way, which this one is in the way of, or the other way round.
    for (let tries = 0; app && tries < 100; tries++) {
      for (const job of revocationJobs) await runIfFree(app, job);
      const mounts = await readMountsById(app);
      const [left] = await listRequestsTo.all(app.db, first);
      if (!left || !mounts.has(left.mount_id)) break;
      await wait(100);
    }
    return call;
  }
}

const SETTINGS = { auto_rebuild: true, enable_delta: true, unified_crl: true };

export async function newMount(call: Call): Promise<string> {
  await must(call('POST', 'sys/mounts/pki', { type: 'pki' }));
  const root = await must(
    call('POST', 'pki/root/generate/internal', {
      common_name: 'R',
      key_type: 'ec',
      ttl: '700h',
      issuer_name: 'first',
    }),
  );
  await must(call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'ec', ttl: '1h' }));
  await must(call('POST', 'pki/config/crl', SETTINGS));
  return root.textAt('data.certificate');
}

export async function issue(call: Call): Promise<{ serial_number: string; certificate: string }> {
  const made = await must(call('POST', 'pki/issue/any', { common_name: 'a.test' }));
  const [serial_number, certificate] = [
    made.textAt('data.serial_number'),
    made.textAt('data.certificate'),
  ];
  return { serial_number, certificate };
}

export async function revokeOne(call: Call): Promise<string> {
  const { serial_number } = await issue(call);
  await must(call('POST', 'pki/revoke', { serial_number }));
  return serial_number;
}

export async function read(call: Call, path: string): Promise<Crl> {
  return parseCrl((await must(call('GET', `pki/${path}`))).bytes);
}

export const serialsOf = (crl: Crl): string[] =>
  [...crl.entries()].map(({ serialNumber }) => formatSerial(serialNumber)).sort();

export const serialsAt = async (call: Call, path: string): Promise<string[]> =>
  serialsOf(await read(call, path));

export async function rotate(call: Call): Promise<void> {
  await must(call('GET', 'pki/crl/rotate'));
}

/** The request for the status of a certificate. @param root PEM of its issuer */
export function statusRequest(root: string, serial_number: string): Uint8Array {
  const [block] = parsePem(root);
  const issuer = parseCertificate(block?.der ?? new Uint8Array());
  return encodeOcspRequest({
    issuer: issuer.subject,
    subjectPublicKeyInfo: issuer.subjectPublicKeyInfo,
    serialNumber: Buffer.from(serial_number.replaceAll(':', ''), 'hex'),
    hash: 'sha1',
  });
}
