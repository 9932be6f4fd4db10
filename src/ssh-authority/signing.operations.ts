import { createPublicKey } from 'node:crypto';
import { retryOnConflict } from '../access/standing/attempts.operations.ts';
import type { App } from '../app/app.ts';
import type { Caller } from '../app/caller.ts';
import { effectiveLeaseTtls, type Mount } from '../app/mount.ts';
import type { DataResult } from '../app/output.ts';
import { invalid } from '../core/failure.ts';
import { presentMount } from '../mounts/operations.ts';
import { settingsTagOf } from '../mounts/store.ts';
import { attachSignature, certificateType, planCertificateBytes } from '../ssh/certificate.ts';
import { encodePrivateKeyFile } from '../ssh/private-key-file.ts';
import { encodePublicKey, parsePublicKeyLine, type SshPublicKey } from '../ssh/public-key.ts';
import {
  findRole,
  type KeyKind,
  makeKey,
  openAuthority,
  requireAuthority,
  signByAuthority,
} from './operations.ts';
import { type CertificateRequest, type PlanContext, planCertificate } from './plan.ts';
import { holdSigning } from './store.ts';

const NONCE_BYTES = 32;
const SERIAL_BYTES = 8;

interface Signed {
  /** Hexadecimal. */
  serial_number: string;
  /** One line. */
  signed_key: string;
}

/** Signs a public key within the bounds of a role. */
export async function signKey(
  app: App,
  caller: Caller,
  { public_key, ...request }: CertificateRequest & { role: string; public_key: string },
): Promise<DataResult<Signed>> {
  const key = parsePublicKeyLine(public_key.trim());
  if (!key) {
    throw invalid(
      'failed to parse public_key as SSH key: Ed25519, ECDSA, or RSA with 2048 bits or more, on one line',
    );
  }
  return { data: await certify(app, caller, key, request) };
}

/** Makes a key, and signs it within the bounds of a role. The key is kept nowhere. */
export async function issueKey(
  app: App,
  caller: Caller,
  {
    key_type,
    key_bits,
    ...request
  }: CertificateRequest & { role: string; key_type: KeyKind; key_bits: number },
): Promise<DataResult<Signed & { private_key: string; private_key_type: string }>> {
  await requireAllowed(app, caller, request);
  const key = await makeKey(app, caller, { kind: key_type, bits: key_bits });
  const signed = await certify(app, caller, encodePublicKey(createPublicKey(key)), request);
  return {
    data: { ...signed, private_key: encodePrivateKeyFile(key), private_key_type: key_type },
  };
}

/** Before a key is made for nothing. @throws Failure `invalid` for what is refused whatever the key */
async function requireAllowed(
  app: App,
  caller: Caller,
  { role: role_name, ...request }: CertificateRequest & { role: string },
): Promise<void> {
  const { role } = await requireRole(app, caller, role_name);
  await requireAuthority(app, caller);
  const none = { blob: Buffer.alloc(0) };
  const mount = await presentMount(app, caller.mount);
  planCertificate(role, none, request, contextOf(app, caller, mount, { role_name, serial: 0n }));
}

const contextOf = (
  app: App,
  caller: Caller,
  mount: Mount,
  by: Pick<PlanContext, 'role_name' | 'serial'>,
): PlanContext => ({
  ...by,
  display_name: caller.token?.display_name ?? '',
  now: Math.floor(app.now() / 1000),
  ...effectiveLeaseTtls(mount.config),
});

async function requireRole(app: App, caller: Caller, name: string) {
  const found = await findRole(app, caller, name);
  if (!found) throw invalid(`unknown role: ${name}`);
  return found;
}

function certify(
  app: App,
  caller: Caller,
  key: SshPublicKey,
  request: CertificateRequest & { role: string },
): Promise<Signed> {
  return retryOnConflict(app, caller, () => certifyOnce(app, caller, key, request));
}

/** @throws Failure `conflict` where what the certificate rests on was changed before it was signed */
async function certifyOnce(
  app: App,
  caller: Caller,
  key: SshPublicKey,
  { role: role_name, ...request }: CertificateRequest & { role: string },
): Promise<Signed> {
  const { role, body_tag } = await requireRole(app, caller, role_name);
  const { key: authority, public_key } = await openAuthority(app, caller);
  const mount = await presentMount(app, caller.mount);
  const serial = Buffer.from(app.randomBytes(SERIAL_BYTES)).readBigUInt64BE();
  const context = contextOf(app, caller, mount, { role_name, serial });
  const fields = planCertificate(role, key, request, context);
  const { signed, algorithm } = planCertificateBytes(key.key, fields, {
    public_key: encodePublicKey(createPublicKey(authority)),
    nonce: app.randomBytes(NONCE_BYTES),
    algorithm: role.algorithm_signer,
  });
  const signature = await signByAuthority(app, caller, { key: authority, algorithm }, signed);
  const blob = attachSignature(signed, signature);
  const serial_number = serial.toString(16).padStart(2 * SERIAL_BYTES, '0');
  Object.assign(caller.record.outcome, { serial_number, key_id: fields.key_id });
  const mount_tag = settingsTagOf(mount) ?? '';
  const basis = { mount_id: mount.id, mount_tag, public_key, role: role_name, role_tag: body_tag };
  // Nothing is stored but that it was done: the record is durable before anybody has the certificate.
  await app.commit(caller, [holdSigning(basis)]);
  return { serial_number, signed_key: `${certificateType(key.type)} ${blob.toString('base64')}\n` };
}
