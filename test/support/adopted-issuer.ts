import type { App } from '../../src/app/app.ts';
import { parsePem } from '../../src/core/pem.ts';
import { readMounts } from '../../src/mounts/operations.ts';
import { DEFAULT_SETTINGS, type IssuerSettings } from '../../src/pki/mount-state/issuer.ts';
import { insertIssuer } from '../../src/pki/mount-state/issuers.store.ts';
import { readMountState } from '../../src/pki/mount-state/operations.ts';
import { saveDefaults } from '../../src/pki/mount-state/store.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';

/**
 * Makes a certificate an issuer of a mount that has its key, whoever signed it: what is tested beneath it needs no
 * way for it to come in.
 *
 * @returns its id
 */
export async function adoptIssuer(
  app: App,
  mount: string,
  pem: string,
  { name = '', ...settings }: { name?: string } & Partial<IssuerSettings> = {},
): Promise<string> {
  const id = app.newId();
  const der = parsePem(pem)[0]?.der ?? new Uint8Array();
  const { subjectPublicKeyInfo } = parseCertificate(der);
  const mount_id = (await readMounts(app)).get(`${mount}/`)?.id ?? '';
  const { keys, defaults } = await readMountState(app, mount_id);
  const key = [...keys.values()].find(
    ({ public_key }) => Buffer.compare(public_key, subjectPublicKeyInfo) === 0,
  );
  const now_ms = app.now();
  const issuer = {
    id,
    name,
    key_id: key?.id ?? '',
    certificate: der,
    settings: { ...DEFAULT_SETTINGS, ...settings },
    revoked_at_ms: undefined,
    revocation_reason: 0,
    modified_at_ms: now_ms,
    created_at_ms: now_ms,
    version: 0,
  };
  const issuing_version = defaults.issuing_version + 1;
  const default_issuer = defaults.default_issuer || id;
  await app.store.commit([
    ...saveDefaults(mount_id, { ...defaults, default_issuer, issuing_version }),
    insertIssuer(mount_id, issuer),
  ]);
  await app.store.refreshConfig();
  return id;
}
