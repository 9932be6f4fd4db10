import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { SshLogin } from '../../broker/sessions/credentials/ssh-login.ts';
import { parseCertificateLine, type SshCertificate } from '../../ssh/certificate.ts';
import { encodePublicKey } from '../../ssh/public-key.ts';
import { signatureAlgorithms, signSshAside } from '../../ssh/signature.ts';
import { encodeBoolean, encodeString, encodeUint32, WireReader } from '../../ssh/wire.ts';
import { NO_MORE_AUTH_METHODS, SshFault } from './transport/fault.ts';
import { MESSAGE } from './transport/messages.ts';
import type { SshTransport } from './transport/transport.ts';

/** A server gives up after some; OpenSSH after six. */
const MOST_ATTEMPTS = 5;
/** What a server says before a log-in is handed on up to this, and heard up to that. */
const MOST_BANNER = 64 << 10;
const MOST_HEARD = 1 << 20;
/** Each has its price, however short it is. */
const BANNER_ROOM = 256;
const SERVICE = 'ssh-connection';

/** Whether a server lets somebody in. */
type Answer =
  | { verdict: 'in' }
  /** `methods` can go on; `isPartial`: what was shown was right, and more is wanted. */
  | { verdict: 'out'; methods: readonly string[]; isPartial: boolean };

/**
 * Logs in, by one after the other of what there is.
 *
 * @param hears is told what the server wants to be read
 * @throws SshFault when nothing lets it in; no secret is in its words
 */
export async function logIn(
  transport: SshTransport,
  logins: readonly SshLogin[],
  hears: (banner: Buffer) => void,
): Promise<void> {
  const login = new Login(transport, hears);
  await login.begin();
  const [first] = logins;
  if (!first) throw new SshFault('there is no credential to log in by', NO_MORE_AUTH_METHODS);
  // A server takes no second name in one connection.
  const same = logins.filter(({ username }) => username === first.username);
  for (const one of same) if (await login.attempt(one)) return;
  const kinds = [...new Set(same.map(({ secret }) => secret.kind))].join(', ');
  throw new SshFault(
    `it does not let user "${first.username}" in by the injected credentials (${kinds})`,
    NO_MORE_AUTH_METHODS,
  );
}

class Login {
  readonly #transport: SshTransport;
  readonly #hears: (banner: Buffer) => void;
  #heard = 0;
  #attempts = 0;

  constructor(transport: SshTransport, hears: (banner: Buffer) => void) {
    this.#transport = transport;
    this.#hears = hears;
  }

  async begin(): Promise<void> {
    await this.#transport.send(
      Buffer.concat([Buffer.of(MESSAGE.SERVICE_REQUEST), encodeString('ssh-userauth')]),
    );
    const answer = await this.#next();
    if (answer[0] !== MESSAGE.SERVICE_ACCEPT) throw new SshFault('it takes no log-ins');
  }

  async attempt({ username, secret }: SshLogin): Promise<boolean> {
    if (secret.kind === 'password') return this.#byPassword(username, secret.password);
    const key = createPrivateKey({
      key: Buffer.from(secret.private_key, 'base64'),
      format: 'der',
      type: 'pkcs8',
    });
    if (secret.kind === 'key') return this.#byKey(username, key);
    const certificate = parseCertificateLine(secret.certificate);
    if (!certificate) throw new SshFault('the injected certificate is none', NO_MORE_AUTH_METHODS);
    return this.#byKey(username, key, certificate);
  }

  async #byPassword(username: string, password: string): Promise<boolean> {
    const answer = await this.#ask(username, 'password', [
      encodeBoolean(false),
      encodeString(password),
    ]);
    if (answer.verdict === 'in') return true;
    const asks = !answer.isPartial && answer.methods.includes('keyboard-interactive');
    // Where it was offered it was taken for wrong: the same is not sent again.
    if (!asks || answer.methods.includes('password')) return false;
    return this.#byAnswer(username, password);
  }

  /** As PAM asks for passwords (RFC 4256): the first hidden question is answered, none a second time. */
  async #byAnswer(username: string, password: string): Promise<boolean> {
    await this.#request(username, 'keyboard-interactive', [encodeString(''), encodeString('')]);
    let isGiven = false;
    for (let round = 0; round < MOST_ATTEMPTS; round++) {
      const message = await this.#next();
      if (message[0] !== MESSAGE.USERAUTH_60) return this.#read(message).verdict === 'in';
      const hidden = readQuestions(message);
      if (!hidden || (hidden.length > 0 && (isGiven || hidden.length > 1 || !hidden[0]))) {
        throw new SshFault('it asks for more than a password', NO_MORE_AUTH_METHODS);
      }
      const answers = hidden.map(() => encodeString(password));
      isGiven = isGiven || answers.length > 0;
      await this.#transport.send(
        Buffer.concat([
          Buffer.of(MESSAGE.USERAUTH_INFO_RESPONSE),
          encodeUint32(answers.length),
          ...answers,
        ]),
      );
    }
    throw new SshFault('it asks again and again', NO_MORE_AUTH_METHODS);
  }

  async #byKey(username: string, key: KeyObject, certificate?: SshCertificate): Promise<boolean> {
    const { type, blob } = encodePublicKey(key);
    if (certificate && !certificate.key.equals(createPublicKey(key))) {
      throw new SshFault('the injected certificate is not of its key', NO_MORE_AUTH_METHODS);
    }
    for (const algorithm of this.#algorithms(type)) {
      const name = certificate ? `${algorithm}-cert-v01@openssh.com` : algorithm;
      const fields = [
        encodeBoolean(true),
        encodeString(name),
        encodeString(certificate?.blob ?? blob),
      ];
      const request = encodeRequest(username, 'publickey', fields);
      const signed = Buffer.concat([encodeString(this.#transport.session_id), request]);
      // With RSA it takes milliseconds, in which everything else that is carried would wait.
      const signature = encodeString(await signSshAside(key, algorithm, signed));
      const answer = await this.#ask(username, 'publickey', [...fields, signature]);
      if (answer.verdict === 'in') return true;
      if (answer.isPartial || !answer.methods.includes('publickey')) return false;
    }
    return false;
  }

  /** Of a server that says what it takes, one; of another one after the other. */
  #algorithms(key_type: string): readonly string[] {
    const own = signatureAlgorithms(key_type);
    const taken = this.#transport.signature_algorithms;
    const common = taken ? own.filter((name) => taken.includes(name)).slice(0, 1) : [];
    return common.length > 0 ? common : own;
  }

  async #ask(username: string, method: string, fields: readonly Buffer[]): Promise<Answer> {
    await this.#request(username, method, fields);
    return this.#read(await this.#next());
  }

  async #request(username: string, method: string, fields: readonly Buffer[]): Promise<void> {
    if (++this.#attempts > MOST_ATTEMPTS) {
      throw new SshFault('too many log-ins were refused', NO_MORE_AUTH_METHODS);
    }
    await this.#transport.send(encodeRequest(username, method, fields));
  }

  #read(message: Buffer): Answer {
    if (message[0] === MESSAGE.USERAUTH_SUCCESS) return { verdict: 'in' };
    if (message[0] === MESSAGE.USERAUTH_60) {
      throw new SshFault('it wants the password to be changed', NO_MORE_AUTH_METHODS);
    }
    if (message[0] !== MESSAGE.USERAUTH_FAILURE) throw new SshFault('its answer is none');
    const read = new WireReader(message.subarray(1));
    const methods = read.names();
    return { verdict: 'out', methods, isPartial: read.boolean() };
  }

  /** What the server says next but for what is only to be read. */
  async #next(): Promise<Buffer> {
    for (;;) {
      const message = await this.#transport.receive();
      if (!message) throw endedBy(this.#transport);
      if (message[0] !== MESSAGE.USERAUTH_BANNER) return message;
      this.#heard += BANNER_ROOM + message.length;
      if (this.#heard > MOST_HEARD) throw new SshFault('it greets without end');
      if (this.#heard <= MOST_BANNER) this.#hears(message);
    }
  }
}

function endedBy({ farewell }: SshTransport): SshFault {
  return new SshFault(`it ended the connection${farewell === '' ? '' : `: ${farewell}`}`);
}

function encodeRequest(username: string, method: string, fields: readonly Buffer[]): Buffer {
  return Buffer.concat([
    Buffer.of(MESSAGE.USERAUTH_REQUEST),
    encodeString(username),
    encodeString(SERVICE),
    encodeString(method),
    ...fields,
  ]);
}

const MOST_QUESTIONS = 16;

/** Of each question whether its answer is hidden; undefined for a message that is none. */
export function readQuestions(message: Buffer): boolean[] | undefined {
  const read = new WireReader(message.subarray(1));
  for (let text = 0; text < 3; text++) read.string();
  const count = read.uint32();
  if (read.failed || count > MOST_QUESTIONS) return undefined;
  const hidden = Array.from({ length: count }, () => {
    read.string();
    return !read.boolean();
  });
  return read.failed ? undefined : hidden;
}
