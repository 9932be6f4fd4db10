import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { askerOf, makeKeyInTurn } from '../access/concurrency/operations.ts';
import { signInTurn } from '../access/concurrency/signatures.operations.ts';
import { commitPlanned } from '../access/standing/attempts.operations.ts';
import type { App } from '../app/app.ts';
import type { Caller } from '../app/caller.ts';
import type { DataResult, NothingResult } from '../app/output.ts';
import { Failure, invalid } from '../core/failure.ts';
import { listKeys } from '../core/key-list.ts';
import { parsePem } from '../core/pem.ts';
import { openPrivateKeyFile } from '../ssh/private-key-file.ts';
import { encodePublicKey, encodeSshPublicKey, parsePublicKey } from '../ssh/public-key.ts';
import { signatureAlgorithms, signSsh, signSshAside, verifySsh } from '../ssh/signature.ts';
import { parsePrivateKey } from '../x509/private-keys.ts';
import { roleSchema, type SshRole } from './role.ts';
import {
  deleteAuthority,
  deleteRole,
  findAuthority,
  findRoleBody,
  insertAuthority,
  listRoleNames,
  measureRole,
  saveRole,
} from './store.ts';

/** Kinds of keys by the names that requests have for them. */
export type KeyKind = 'rsa' | 'ec' | 'ed25519';

const CURVES: Readonly<Record<number, string>> = { 256: 'P-256', 384: 'P-384', 521: 'P-521' };
const RSA_BITS = [2048, 3072, 4096];
/** A longer one takes a second to sign. */
const MOST_RSA_BITS = 8192;

/**
 * Makes a key.
 *
 * @param bits 0: as its kind has it unless told
 * @throws Failure `invalid` for bits that its kind does not have
 */
export async function makeKey(
  app: App,
  caller: Caller,
  { kind, bits }: { kind: KeyKind; bits: number },
): Promise<KeyObject> {
  if (kind === 'ed25519') return generate((done) => generateKeyPair('ed25519', {}, done));
  if (kind === 'ec') {
    const namedCurve = CURVES[bits || 256];
    if (!namedCurve) throw invalid('key_bits of ec is one of 256, 384, 521');
    return generate((done) => generateKeyPair('ec', { namedCurve }, done));
  }
  const modulusLength = bits || 4096;
  if (!RSA_BITS.includes(modulusLength)) {
    throw invalid(`key_bits of rsa is one of ${RSA_BITS.join(', ')}`);
  }
  const make = () => generate((done) => generateKeyPair('rsa', { modulusLength }, done));
  return makeKeyInTurn(app, askerOf(caller), make);
}

type Done = (error: Error | null, publicKey: KeyObject, privateKey: KeyObject) => void;

function generate(begin: (done: Done) => void): Promise<KeyObject> {
  return new Promise((resolve, reject) => {
    begin((error, _publicKey, privateKey) => (error ? reject(error) : resolve(privateKey)));
  });
}

const placeOf = (mount_id: string) =>
  ({ table: 'ssh_authority', column: 'private_key_sealed', row: mount_id }) as const;

const NO_AUTHORITY = "keys haven't been configured yet";

export interface AuthorityInput {
  generate_signing_key: boolean;
  key_type: string;
  key_bits: number;
  private_key: string;
}

type PublicKeyAnswer = DataResult<{ public_key: string }>;

/** Names of Vault's for kinds of keys, and ours. */
const KINDS: Readonly<Record<string, KeyKind>> = {
  'ssh-rsa': 'rsa',
  'ssh-ed25519': 'ed25519',
  'ecdsa-sha2-nistp256': 'ec',
  'ecdsa-sha2-nistp384': 'ec',
  'ecdsa-sha2-nistp521': 'ec',
  rsa: 'rsa',
  ec: 'ec',
  ed25519: 'ed25519',
};

/** Gives a mount its authority: a key of its own, or one that is brought. It has one until that is deleted. */
export async function writeAuthority(
  app: App,
  caller: Caller,
  input: AuthorityInput,
): Promise<PublicKeyAnswer> {
  const mount_id = caller.mount.id;
  const requireNone = async (): Promise<void> => {
    if (!(await findAuthority(app.db, mount_id))) return;
    throw invalid('keys are already configured; delete them before reconfiguring');
  };
  // Before a key is made for nothing.
  await requireNone();
  const key = await authorityKey(app, caller, input);
  const public_key = encodeSshPublicKey(createPublicKey(key));
  const der = key.export({ type: 'pkcs8', format: 'der' });
  const private_key_sealed = app.barrier.encrypt('pki-key', placeOf(mount_id), der);
  der.fill(0);
  await commitPlanned(app, caller, async () => {
    await requireNone();
    return {
      effects: [insertAuthority({ mount_id, public_key, private_key_sealed })],
      result: {},
      found: false,
    };
  });
  return { data: { public_key } };
}

async function authorityKey(
  app: App,
  caller: Caller,
  { generate_signing_key, key_type, key_bits, private_key }: AuthorityInput,
): Promise<KeyObject> {
  if (private_key !== '') {
    const key = readBroughtKey(private_key);
    if (!(await canSign(app, caller, key)))
      throw invalid(
        'private_key: Ed25519, ECDSA on P-256, P-384, P-521, or RSA with 2048 to 8192 bits',
      );
    return key;
  }
  if (!generate_signing_key) throw invalid('missing private_key: or set generate_signing_key');
  const kind = KINDS[key_type];
  if (!kind) throw invalid(`unknown key_type "${key_type.slice(0, 64)}"`);
  const [, bits = ''] = /^ecdsa-sha2-nistp(\d+)$/.exec(key_type) ?? [];
  return makeKey(app, caller, { kind, bits: key_bits || Number(bits) });
}

/** @throws Failure `invalid` for what is no private key, or one with a passphrase */
function readBroughtKey(pem: string): KeyObject {
  const [block, second] = parsePem(pem);
  if (block?.label !== 'OPENSSH PRIVATE KEY' || second) return parsePrivateKey(pem);
  const key = openPrivateKeyFile(block.der);
  if (key) return key;
  throw invalid('private_key: it is not well-formed, has a passphrase, or is of another kind');
}

/** Whether it has a form in SSH, and signs as its public part says. */
async function canSign(app: App, caller: Caller, key: KeyObject): Promise<boolean> {
  try {
    const public_key = parsePublicKey(encodePublicKey(createPublicKey(key)).blob);
    const { modulusLength = 0 } = public_key?.key.asymmetricKeyDetails ?? {};
    if (!public_key || modulusLength > MOST_RSA_BITS) return false;
    const [algorithm = ''] = signatureAlgorithms(public_key.type);
    const probe = Buffer.from('a key that is brought');
    const signature = await signByAuthority(app, caller, { key, algorithm }, probe);
    return verifySsh(public_key, probe, signature).valid;
  } catch (error) {
    if (error instanceof Failure) throw error;
    return false;
  }
}

/**
 * Signs with a key of an authority: with RSA, which takes from a millisecond to forty, on another thread when it is
 * the caller's turn.
 *
 * @returns the signature as SSH has it
 * @throws Failure `rate_limited` as {@link signInTurn}
 */
export async function signByAuthority(
  app: App,
  caller: Caller,
  { key, algorithm }: { key: KeyObject; algorithm: string },
  data: Uint8Array,
): Promise<Buffer> {
  const { modulusLength: key_bits } = key.asymmetricKeyDetails ?? {};
  if (key_bits === undefined) return signSsh(key, algorithm, data);
  const sign = () => signSshAside(key, algorithm, data);
  return signInTurn(app, caller, { key_type: 'rsa', key_bits }, sign);
}

export async function readAuthority(app: App, caller: Caller): Promise<PublicKeyAnswer> {
  const { public_key } = await requireAuthority(app, caller);
  return { data: { public_key } };
}

/** @throws Failure `invalid` for a mount without an authority */
export async function requireAuthority(app: App, caller: Caller) {
  const row = await findAuthority(app.db, caller.mount.id);
  if (!row) throw invalid(NO_AUTHORITY);
  return row;
}

/** As servers take it for `TrustedUserCAKeys`. */
export async function readPublicKey(app: App, caller: Caller): Promise<{ bytes: Uint8Array }> {
  const row = await findAuthority(app.db, caller.mount.id);
  if (!row) throw new Failure('not_found', '');
  return { bytes: Buffer.from(`${row.public_key}\n`) };
}

/** What it has signed stays as it is. */
export async function removeAuthority(app: App, caller: Caller): Promise<NothingResult> {
  await app.commit(caller, [deleteAuthority(caller.mount.id)]);
  return {};
}

/**
 * @returns its private key, and the public one as it is stored
 * @throws Failure as {@link requireAuthority}
 */
export async function openAuthority(
  app: App,
  caller: Caller,
): Promise<{ key: KeyObject; public_key: string }> {
  const { public_key, private_key_sealed } = await requireAuthority(app, caller);
  const der = app.barrier.decrypt('pki-key', placeOf(caller.mount.id), private_key_sealed);
  const key = createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' });
  der.fill(0);
  return { key, public_key };
}

/** @returns a role, and the tag of the text that it is stored as */
export async function findRole(
  app: App,
  caller: Caller,
  name: string,
): Promise<{ role: SshRole; body_tag: string } | undefined> {
  const row = await findRoleBody(app.db, { mount_id: caller.mount.id, name });
  return row && { role: roleSchema.parse(JSON.parse(row.body)), body_tag: row.body_tag };
}

export async function readRole(
  app: App,
  caller: Caller,
  { name }: { name: string },
): Promise<DataResult<SshRole>> {
  const found = await findRole(app, caller, name);
  if (!found) throw new Failure('not_found', '');
  return { data: found.role };
}

export function listRoles(
  app: App,
  caller: Caller,
  input: { after?: string | undefined; limit?: number | undefined },
) {
  return listKeys((page) => listRoleNames(app.db, { mount_id: caller.mount.id, ...page }), input);
}

/** Writes a role whole: what is left out falls to its default. */
export async function writeRole(
  app: App,
  caller: Caller,
  { name, ...role }: SshRole & { name: string },
): Promise<NothingResult> {
  if (role.max_ttl > 0 && role.ttl > role.max_ttl) {
    throw invalid('ttl value must be less than max_ttl when both specified');
  }
  if (Object.keys(role.allowed_user_key_lengths).length > 0) {
    throw invalid(
      'allowed_user_key_lengths is not supported: Ed25519, ECDSA on P-256, P-384, P-521, and RSA with 2048 bits or more are signed',
    );
  }
  const mount_id = caller.mount.id;
  const body = JSON.stringify(role);
  return commitPlanned<NothingResult>(app, caller, async () => ({
    effects: [saveRole(mount_id, name, body)],
    result: {},
    found: (await measureRole(app.db, { mount_id, name })) > 0,
  }));
}

export async function removeRole(
  app: App,
  caller: Caller,
  { name }: { name: string },
): Promise<NothingResult> {
  await app.commit(caller, [deleteRole(caller.mount.id, name)]);
  return {};
}
