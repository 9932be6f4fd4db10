import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { Failure } from '../../core/failure.ts';

/** What a worker keeps between two runs. */
const kept = z.strictObject({
  /** PKCS #8, PEM. */
  private_key: z.string(),
  /** Of the token that it prints itself, base64. */
  secret: z.string(),
  /** The rest once it is enrolled: DER in base64. */
  worker_id: z.string().optional(),
  certificate: z.string().optional(),
  roots: z.array(z.string()).optional(),
});
type Kept = z.output<typeof kept>;

/** What a server gave a worker. */
export interface Enrolled {
  worker_id: string;
  /** DER in base64. */
  certificate: string;
  roots: readonly string[];
}

const FILE = 'worker.json';

/** Who a worker is: its key, and the certificate it was given. In a file that only its own user reads. */
export class Identity {
  readonly #file: string;
  #kept: Kept;

  private constructor(file: string, known: Kept) {
    this.#file = file;
    this.#kept = known;
  }

  /**
   * Reads it, or makes a key at the first start.
   *
   * @throws Failure `invalid` when the folder cannot be used, or holds something else
   */
  static open(directory: string): Identity {
    const file = join(directory, FILE);
    let text: string;
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      text = readFileSync(file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw unusable(directory, error);
      const first = fresh();
      const made = new Identity(file, first);
      made.#save(first);
      return made;
    }
    const read = kept.safeParse(jsonOf(text));
    if (!read.success) throw new Failure('invalid', `state: "${file}" is not a worker’s`);
    return new Identity(file, read.data);
  }

  get worker_id(): string | undefined {
    return this.#kept.worker_id;
  }

  get key(): KeyObject {
    return createPrivateKey(this.#kept.private_key);
  }

  /** DER of its subjectPublicKeyInfo. */
  get public_key(): Buffer {
    return spkiOf(this.key);
  }

  get secret(): Buffer {
    return Buffer.from(this.#kept.secret, 'base64');
  }

  /** What it proves itself by and whom it trusts; undefined before it is enrolled. */
  get credentials(): { key: string; certificate: Buffer; roots: Buffer[] } | undefined {
    const { private_key, certificate, roots } = this.#kept;
    if (certificate === undefined || roots === undefined) return undefined;
    return {
      key: private_key,
      certificate: Buffer.from(certificate, 'base64'),
      roots: roots.map((root) => Buffer.from(root, 'base64')),
    };
  }

  /** When half of its certificate's time is over, Unix milliseconds: then it is renewed. */
  get half_ms(): number | undefined {
    const certificate = this.credentials?.certificate;
    if (!certificate) return undefined;
    const { validFromDate, validToDate } = new X509Certificate(certificate);
    return (validFromDate.getTime() + validToDate.getTime()) / 2;
  }

  /**
   * Keeps what a server gave; with the key that it was given for, where that is a new one.
   *
   * @throws Failure `invalid` when it cannot be written: everything is as it was then
   */
  keep(enrolled: Enrolled, key: string = this.#kept.private_key): void {
    const { worker_id, certificate, roots } = enrolled;
    const { secret } = this.#kept;
    this.#save({ private_key: key, secret, worker_id, certificate, roots: [...roots] });
  }

  #save(next: Kept): void {
    const beside = `${this.#file}.new`;
    try {
      const text = `${JSON.stringify(next, undefined, 2)}\n`;
      // On the disk before it takes the other's place: the server forgets the key that was there before.
      writeFileSync(beside, text, { mode: 0o600, flush: true });
      chmodSync(beside, 0o600);
      renameSync(beside, this.#file);
    } catch (error) {
      throw unusable(this.#file, error);
    }
    this.#kept = next;
  }
}

/** A key of Ed25519 in PEM. */
export function newKey(): { pem: string; public_key: Buffer } {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { pem, public_key: spkiOf(privateKey) };
}

const fresh = (): Kept => ({
  private_key: newKey().pem,
  secret: randomBytes(32).toString('base64'),
});

const spkiOf = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ type: 'spki', format: 'der' });

function unusable(path: string, cause: unknown): Failure {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new Failure('invalid', `state: "${path}" cannot be used: ${why}`, { cause });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
