// What clients were told, and how it is compared with what a server says afterwards.

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parsePem } from '../../src/core/pem.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { formatSerial, parseSerial } from '../../src/x509/serial.ts';
import { parseCrl } from '../support/crl.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { readOcspVerdict } from '../support/ocsp-response.ts';
import type { Client, Reply } from '../support/server.ts';

type Call = Client['call'];

interface Acknowledged {
  certificates: Map<string, string>;
  /** Unix seconds by serial number. */
  revocations: Map<string, number>;
  tokens: Set<string>;
  revokedTokens: Set<string>;
  /** `ttl` by the name of the role. */
  roles: Map<string, number>;
  /** Ids of the requests that had these effects. */
  requests: Set<string>;
}

/** Everything that clients received an answer for. */
export class Ledger {
  readonly #all = empty();
  #recent = empty();
  #issuer: { subject: Uint8Array; subjectPublicKeyInfo: Uint8Array } | undefined;
  #counter = 0;
  /** The largest CRL number that anybody has seen. */
  crlNumber = 0n;
  /** How often each status was answered. */
  readonly statuses = new Map<number, number>();

  /** Makes a CA with a role, so that clients can work. */
  async prepare(call: Call): Promise<void> {
    await expectOk(call('POST', 'sys/mounts/ca', { type: 'pki' }));
    const root = await expectOk(
      call('POST', 'ca/root/generate/internal', { common_name: 'Root', key_type: 'ec' }),
    );
    this.#issuer = parseCertificate(derOf(root.textAt('data.certificate')));
    await expectOk(
      call('POST', 'ca/roles/any', { allow_any_name: true, key_type: 'ec', max_ttl: '24h' }),
    );
  }

  /** Works until told to stop; a request that gets no answer, or a 503, counts for nothing. */
  async work(call: Call, stopped: () => boolean): Promise<void> {
    const mine: string[] = [];
    while (!stopped()) {
      try {
        await this.#step(call, mine);
      } catch (error) {
        // `fetch` has no other error for a connection that was lost.
        if (!(error instanceof TypeError) && !isAborted(error)) throw error;
        await delay(20);
      }
    }
  }

  async #step(call: Call, mine: string[]): Promise<void> {
    this.#counter += 1;
    const dice = Math.random();
    if (dice < 0.45) {
      const cn = `h${this.#counter}.example`;
      const issued = await this.#ask(call('POST', 'ca/issue/any', { common_name: cn }));
      if (!issued) return;
      const serial = issued.textAt('data.serial_number');
      this.#note(issued, (book) => book.certificates.set(serial, pemOf(issued)));
      mine.push(serial);
    } else if (dice < 0.8) {
      const serial = mine.shift();
      if (serial === undefined) return;
      const revoked = await this.#ask(call('POST', 'ca/revoke', { serial_number: serial }));
      if (!revoked) return;
      const time = Number(revoked.field('data.revocation_time'));
      this.#note(revoked, (book) => book.revocations.set(serial, time));
    } else if (dice < 0.86) {
      const made = await this.#ask(call('POST', 'auth/token/create', { policies: ['default'] }));
      if (!made) return;
      const token = made.textAt('auth.client_token');
      this.#note(made, (book) => book.tokens.add(token));
      if (Math.random() < 0.5) {
        // Revoked or not: until somebody is told, nobody may count on either.
        for (const book of [this.#all, this.#recent]) book.tokens.delete(token);
        const ended = await this.#ask(call('POST', 'auth/token/revoke', { token }));
        if (ended) this.#note(undefined, (book) => book.revokedTokens.add(token));
      }
    } else if (dice < 0.92) {
      const name = `r${this.#counter}`;
      const ttl = 60 + this.#counter;
      const written = await this.#ask(call('POST', `ca/roles/${name}`, { ttl }));
      if (written) this.#note(written, (book) => book.roles.set(name, ttl));
    } else if (dice < 0.95) {
      await this.#ask(call('GET', 'ca/crl/rotate'));
    } else {
      const reply = await this.#ask(call('GET', 'ca/crl', undefined, { token: '' }));
      if (reply) this.#seeCrl(reply);
    }
  }

  /** @returns the answer, or undefined when the server was not able to answer */
  async #ask(answer: Promise<Reply>): Promise<Reply | undefined> {
    const reply = await answer;
    this.statuses.set(reply.status, (this.statuses.get(reply.status) ?? 0) + 1);
    if (reply.status === 503) {
      assert.doesNotMatch(reply.text, /BEGIN|hvs\./, 'a refusal carries nothing that was made');
      await delay(20);
      return undefined;
    }
    // The outcome of a revocation that was not confirmed is seen by the second try.
    assert.ok(reply.status < 300, `${reply.status} ${reply.text}`);
    return reply;
  }

  #note(reply: Reply | undefined, into: (book: Acknowledged) => void): void {
    for (const book of [this.#all, this.#recent]) {
      into(book);
      if (reply) book.requests.add(reply.textAt('request_id'));
    }
  }

  #seeCrl(reply: Reply) {
    const crl = parseCrl(reply.bytes);
    const number = crl.crlNumber ?? 0n;
    // Answers may overtake each other; `compare` looks at the order, when nothing else is asked.
    if (number > this.crlNumber) this.crlNumber = number;
    return crl;
  }

  /** How many requests have been granted. */
  get answered() {
    return [...this.statuses].reduce((sum, [status, n]) => (status < 300 ? sum + n : sum), 0);
  }

  get size() {
    const { certificates, revocations, tokens, roles } = this.#all;
    return `${certificates.size} certificates, ${revocations.size} revocations, ${tokens.size} tokens, ${roles.size} roles`;
  }

  /**
   * Asks a server for everything that was acknowledged.
   *
   * @param scope `recent`: since the last comparison; `all`: since the beginning
   */
  async compare(call: Call, scope: 'recent' | 'all'): Promise<void> {
    const book = scope === 'all' ? this.#all : this.#recent;
    this.#recent = empty();
    const before = this.crlNumber;
    const crl = this.#seeCrl(await expectOk(call('GET', 'ca/crl', undefined, { token: '' })));
    assert.ok((crl.crlNumber ?? 0n) >= before, 'the CRL number went back');
    const listed = new Map(
      [...crl.entries()].map((entry) => [formatSerial(entry.serialNumber), entry.revocationTime]),
    );
    await inTurns([...book.certificates], async ([serial, pem]) => {
      const read = await expectOk(call('GET', `ca/cert/${serial}`, undefined, { token: '' }));
      const same = Buffer.compare(derOf(read.textAt('data.certificate')), derOf(pem)) === 0;
      assert.ok(same, `${serial} is another certificate`);
      assert.equal(
        formatSerial(parseSerial(new X509Certificate(pem).serialNumber) ?? new Uint8Array()),
        serial,
      );
    });
    for (const [serial, time] of this.#all.revocations) {
      assert.equal(listed.get(serial), time, `${serial} on the CRL`);
    }
    await inTurns([...book.revocations], async ([serial, time]) => {
      const read = await expectOk(call('GET', `ca/cert/${serial}`, undefined, { token: '' }));
      assert.equal(read.field('data.revocation_time'), time, serial);
      assert.deepEqual(await this.askOcsp(call, serial), { revoked_at: time });
    });
    await inTurns([...book.tokens], async (token) => {
      assert.equal((await call('GET', 'auth/token/lookup-self', undefined, { token })).status, 200);
    });
    await inTurns([...book.revokedTokens], async (token) => {
      assert.equal((await call('GET', 'auth/token/lookup-self', undefined, { token })).status, 403);
    });
    await inTurns([...book.roles], async ([name, ttl]) => {
      const read = await expectOk(call('GET', `ca/roles/${name}`));
      assert.equal(read.field('data.ttl'), ttl);
    });
  }

  /** Every acknowledged effect has its record. */
  compareRecords(records: readonly { record: string }[]): void {
    const ids = new Set(records.map(({ record }) => requestIdOf(record)));
    const missing = [...this.#all.requests].filter((id) => !ids.has(id));
    assert.deepEqual(missing, [], 'requests without a record');
  }

  async askOcsp(call: Call, serial: string) {
    assert.ok(this.#issuer);
    const { subject, subjectPublicKeyInfo } = this.#issuer;
    const request = encodeOcspRequest({
      issuer: subject,
      subjectPublicKeyInfo,
      serialNumber: parseSerial(serial) ?? new Uint8Array(),
      hash: 'sha256',
    });
    return readOcspVerdict((await expectOk(call('POST', 'ca/ocsp', request, { token: '' }))).bytes);
  }
}

function empty(): Acknowledged {
  return {
    certificates: new Map(),
    revocations: new Map(),
    tokens: new Set(),
    revokedTokens: new Set(),
    roles: new Map(),
    requests: new Set(),
  };
}

async function expectOk(answer: Promise<Reply>): Promise<Reply> {
  const reply = await answer;
  assert.ok(reply.status < 300, `${reply.status} ${reply.text}`);
  return reply;
}

/** A few at a time. */
async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

function requestIdOf(record: string): unknown {
  // Some records are of no single request.
  const { request }: { request?: { id: unknown } } = JSON.parse(record);
  return request?.id;
}

function pemOf(reply: Reply): string {
  return reply.textAt('data.certificate');
}

function derOf(pem: string): Uint8Array {
  const [block] = parsePem(pem);
  if (!block) throw new Error('no PEM block');
  return block.der;
}

function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
