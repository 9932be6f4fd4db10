import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { SshLogin } from '../../broker/sessions/credentials/ssh-login.ts';
import type { SshGrant } from '../../broker/targets/injection.operations.ts';
import { judgeHostKey } from '../../ssh/certificate.ts';
import { encodePublicKey, parsePublicKeyLine, type SshPublicKey } from '../../ssh/public-key.ts';
import { WireReader } from '../../ssh/wire.ts';
import { WatchedChannels } from './channels.ts';
import { logIn } from './login.ts';
import { receiveClient } from './reception.ts';
import { hostKeyAlgorithms } from './transport/algorithms.ts';
import { HOST_KEY_NOT_VERIFIABLE, NO_MORE_AUTH_METHODS, SshFault } from './transport/fault.ts';
import { isOfConnection, MESSAGE } from './transport/messages.ts';
import { SshTransport } from './transport/transport.ts';
import type { SessionWatcher } from './watching.ts';

/** An endpoint that has not let it in by then is given up. */
const LOGIN_MS = 30_000;
/** Somebody may have to be asked whether the host key is the right one. */
const CLIENT_MS = 120_000;

const MOST_WORDS = 500;

/** How it ended; `because` where it did not end as it should. */
export interface ProxyEnd {
  by: 'client' | 'endpoint' | 'refused host key' | 'refused log-in' | 'fault';
  because?: string;
}

/**
 * Speaks SSH with a client and with an endpoint, and passes everything between them on once it has logged in
 * there: channels of every kind, requests, and how much each side may send. Ends both streams; never throws.
 *
 * @param name of the endpoint as it was dialled
 */
export async function proxySsh(
  { client, endpoint, name }: { client: Duplex; endpoint: Duplex; name: string },
  grant: SshGrant,
  watcher?: SessionWatcher,
): Promise<ProxyEnd> {
  const proxy = new SshProxy({ client, endpoint, name }, grant, watcher);
  return proxy.run();
}

class SshProxy {
  readonly #client: SshTransport;
  readonly #endpoint: SshTransport;
  readonly #logins: readonly SshLogin[];
  readonly #channels: WatchedChannels | undefined;
  readonly #watcher: SessionWatcher | undefined;
  #isOver = false;

  constructor(
    { client, endpoint, name }: { client: Duplex; endpoint: Duplex; name: string },
    grant: SshGrant,
    watcher: SessionWatcher | undefined,
  ) {
    const known = {
      keys: linesOf(grant.host_keys),
      authorities: linesOf(grant.host_ca_keys),
      name,
    };
    const key = ed25519(grant.worker_key);
    this.#client = new SshTransport(
      client,
      { role: 'server', host_key: { key, public_key: encodePublicKey(key) } },
      ['ssh-ed25519'],
    );
    this.#endpoint = new SshTransport(
      endpoint,
      { role: 'client', judge: (blob) => judgeHostKey(blob, known, Date.now()) },
      hostKeyAlgorithms(known.keys, known.authorities),
    );
    this.#logins = grant.logins;
    this.#watcher = watcher;
    this.#channels = watcher && new WatchedChannels(watcher);
  }

  async run(): Promise<ProxyEnd> {
    const end = await this.#carry().catch(endBy);
    this.#isOver = true;
    const reason = end.because ?? `ended by the ${end.by}`;
    for (const side of [this.#client, this.#endpoint]) side.disconnect(reason);
    try {
      await this.#closeWatched(reason);
    } catch (error) {
      return endBy(error);
    }
    return end;
  }

  /** What can be closed is, whatever cannot. */
  async #closeWatched(reason: string): Promise<void> {
    try {
      await this.#channels?.close();
    } finally {
      await this.#watcher?.close({ reason });
    }
  }

  async #carry(): Promise<ProxyEnd> {
    const ready = withinTime(LOGIN_MS, 'it takes too long', this.#reach());
    const banners = ready.catch((error: unknown) => {
      throw faultOf('endpoint', error);
    });
    banners.catch(() => {});
    await withinTime(CLIENT_MS, 'the client takes too long', this.#receive(banners));
    return Promise.race([
      this.#pass(this.#client, this.#endpoint, 'client'),
      this.#pass(this.#endpoint, this.#client, 'endpoint'),
    ]);
  }

  async #receive(banners: Promise<readonly Buffer[]>): Promise<void> {
    await this.#client.start();
    await receiveClient(this.#client, banners);
  }

  async #reach(): Promise<readonly Buffer[]> {
    const banners: Buffer[] = [];
    await this.#endpoint.start();
    await logIn(this.#endpoint, this.#logins, (banner) => banners.push(banner));
    return banners;
  }

  async #pass(
    from: SshTransport,
    to: SshTransport,
    side: 'client' | 'endpoint',
  ): Promise<ProxyEnd> {
    for (;;) {
      const message = await from.receive().catch((error: unknown) => {
        throw faultOf(side, error);
      });
      if (!message || this.#isOver) return { by: side };
      // What comes late of a log-in is not looked at (RFC 4252 §5.3).
      if (!isOfConnection(message[0] ?? 0) || isOfHostKeys(message)) continue;
      if (this.#channels) await this.#channels.see(message, side);
      // Whoever has left is still heard to the end, and how that was is said there: what is for it is let go of.
      await to.send(message).catch((error: unknown) => {
        if (!to.hasLeft) throw error;
      });
    }
  }
}

/** An endpoint's offer of its other keys: to the client the worker's is the only one. */
function isOfHostKeys(message: Buffer): boolean {
  if (message[0] !== MESSAGE.GLOBAL_REQUEST) return false;
  return new WireReader(message.subarray(1)).name() === 'hostkeys-00@openssh.com';
}

function linesOf(lines: readonly string[]): SshPublicKey[] {
  return lines.flatMap((line) => parsePublicKeyLine(line) ?? []);
}

function ed25519(seed: string): KeyObject {
  const key = Buffer.from(seed, 'base64');
  return createPrivateKey({ key, format: 'raw-private', asymmetricKeyType: 'ed25519' });
}

async function withinTime<T>(milliseconds: number, because: string, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new SshFault(because)), milliseconds);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** What is not a fault of either side is nobody's to read. */
const wordsOf = (error: unknown): string =>
  error instanceof SshFault ? error.message : 'something is wrong in the worker';

/** Both sides hear it, and whoever reads of it later: it has to say whose it is. */
function faultOf(side: 'client' | 'endpoint', error: unknown): SshFault {
  const code = error instanceof SshFault ? error.code : undefined;
  return new SshFault(`the ${side}: ${wordsOf(error)}`, code);
}

function endBy(error: unknown): ProxyEnd {
  const because = wordsOf(error).slice(0, MOST_WORDS);
  const code = error instanceof SshFault ? error.code : 0;
  if (code === HOST_KEY_NOT_VERIFIABLE) return { by: 'refused host key', because };
  return { by: code === NO_MORE_AUTH_METHODS ? 'refused log-in' : 'fault', because };
}
