import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Caller } from '../../access/caller.ts';
import { type App, perApp } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import { encodePem } from '../../core/pem.ts';
import { chooseSignatureAlgorithm, type SignatureAlgorithm } from '../../x509/algorithms.ts';
import { assembleSigned } from '../../x509/certificate.ts';
import { encodeTbsCertList } from '../../x509/crl.ts';
import { keyIdentifier } from '../../x509/keys.ts';
import { RevokedListWriter } from '../../x509/revoked-list.ts';
import { parseSerial } from '../../x509/serial.ts';
import { type Authority, resolveIssuer } from '../authority/authority.ts';
import { readAuthority } from '../authority/operations.ts';
import { findConfig, saveConfig } from '../authority/store.ts';
import type { Issuer } from '../issuers/issuer.ts';
import { signWithKey } from '../keys/operations.ts';
import { listRevocations, readRevision } from '../revocation/store.ts';
import {
  type CrlConfig,
  type CrlPatch,
  crlConfigSchema,
  crlSeconds,
  DEFAULT_CRL_CONFIG,
  planCrlConfig,
} from './config.ts';
import { belongsOnList, type IssuerClass, listBase, planClass } from './issuer-class.ts';
import { findCrl, findCrlHead, type StoredCrl, saveCrl } from './store.ts';

/** Rows read at a time while a list is built; between pages the server does other things. */
const PAGE = 1000;

export function readCrlConfig(app: App, mount_id: string): Promise<CrlConfig> {
  return app.cached(`pki/crl/${mount_id}`, async () => {
    const body = await findConfig(app.db, mount_id, 'crl');
    return body === undefined ? DEFAULT_CRL_CONFIG : crlConfigSchema.parse(JSON.parse(body));
  });
}

export async function writeCrlConfig(app: App, caller: Caller, patch: CrlPatch) {
  const next = planCrlConfig(await readCrlConfig(app, caller.mount.id), patch);
  await app.commit(caller, saveConfig(caller.mount.id, 'crl', JSON.stringify(next)));
  return { data: next };
}

/** Lists being built now, so that everybody who waits for one waits for the same. */
const builds = perApp(() => new Map<string, Promise<void>>());

/** The last list of each class in its two forms; checked against the stored number at each use. */
const published = perApp(() => new Map<string, PublishedCrl>());

export interface PublishedCrl {
  number: number;
  modified_at_ms: number;
  der: Uint8Array;
  /** Without a newline at its end; made when first asked for. */
  pem(): string;
}

/**
 * The list of an issuer as it should be now. Built before the answer only when it would
 * otherwise be missing a revocation that has been acknowledged, or have run out.
 *
 * @returns undefined when there is none and nobody may sign one
 */
export async function readCrl(
  app: App,
  mount_id: string,
  ref: string,
): Promise<PublishedCrl | undefined> {
  const authority = await readAuthority(app, mount_id);
  const issuers = planClass(authority, resolveIssuer(authority, ref));
  const wanted = await readRevision(app.db, mount_id);
  const config = await readCrlConfig(app, mount_id);
  if (await isStale(app, mount_id, { authority, issuers, config, wanted })) {
    await refresh(app, mount_id, issuers, wanted);
  }
  return loadPublished(app, mount_id, issuers.id);
}

async function loadPublished(
  app: App,
  mount_id: string,
  id: string,
): Promise<PublishedCrl | undefined> {
  const head = await findCrlHead(app.db, mount_id, id);
  if (!head) return undefined;
  const place = `${mount_id}/${id}`;
  const known = published(app).get(place);
  if (known?.number === head.number) return known;
  const crl = await findCrl(app.db, mount_id, id);
  if (!crl) return undefined;
  const { der, number, modified_at_ms } = crl;
  let pem: string | undefined;
  const fresh: PublishedCrl = {
    number,
    modified_at_ms,
    der,
    pem() {
      pem ??= encodePem('X509 CRL', der).trimEnd();
      return pem;
    },
  };
  published(app).set(place, fresh);
  return fresh;
}

interface Ground {
  authority: Authority;
  issuers: IssuerClass;
  config: CrlConfig;
  /** The revision that the list must cover. */
  wanted: number;
}

async function isStale(app: App, mount_id: string, ground: Ground): Promise<boolean> {
  if (!ground.issuers.signer) return false;
  const head = await findCrlHead(app.db, mount_id, ground.issuers.id);
  return judgeStale(head, ground, Math.floor(app.now() / 1000));
}

/** Says whether a list must be built anew (contract 3.12). */
export function judgeStale(
  head: Omit<StoredCrl, 'der'> | undefined,
  { authority, issuers, config, wanted }: Ground,
  now: number,
): boolean {
  if (!head) return true;
  if (head.base !== listBase(authority, issuers, config)) return true;
  const lifetime = head.next_update - head.this_update;
  // Without auto_rebuild a list is renewed halfway through, so that nobody meets one that ran out.
  const grace = config.auto_rebuild
    ? crlSeconds(config, 'auto_rebuild_grace_period')
    : lifetime / 2;
  if (now >= head.next_update - grace) return true;
  return !config.auto_rebuild && !config.disable && head.revision < wanted;
}

/** Builds until the stored list covers what is wanted; joins a build that is under way. */
async function refresh(
  app: App,
  mount_id: string,
  issuers: IssuerClass,
  wanted: number,
): Promise<void> {
  for (let attempt = 0; attempt < 8; attempt++) {
    const authority = await readAuthority(app, mount_id);
    const config = await readCrlConfig(app, mount_id);
    const representative = issuers.members[0];
    const current = representative && authority.issuers.get(representative.id);
    if (!current) return;
    const ground = { authority, issuers: planClass(authority, current), config, wanted };
    if (!(await isStale(app, mount_id, ground))) return;
    await joinBuild(app, mount_id, ground);
  }
  throw new Failure('unavailable', 'the CRL is being rebuilt, try again', { retry_after: 1 });
}

function joinBuild(app: App, mount_id: string, ground: Ground): Promise<void> {
  const place = `${mount_id}/${ground.issuers.id}`;
  const running = builds(app).get(place);
  if (running) return running;
  const build = buildCrl(app, mount_id, ground).finally(() => builds(app).delete(place));
  builds(app).set(place, build);
  return build;
}

/** Builds, signs and publishes one complete list (RFC 5280 §5). */
async function buildCrl(app: App, mount_id: string, ground: Ground): Promise<void> {
  const { authority, issuers, config } = ground;
  if (!issuers.signer) return;
  const { issuer, key } = issuers.signer;
  const id = issuers.id;
  const previous = await findCrlHead(app.db, mount_id, id);
  // Read first: what is revoked while the rows are read is covered by the next list.
  const revision = await readRevision(app.db, mount_id);
  const entries = config.disable
    ? new RevokedListWriter()
    : await collectEntries(app, mount_id, ground);
  const signatureAlgorithm = listAlgorithm(issuer, key);
  const now_ms = app.now();
  const this_update = Math.floor(now_ms / 1000);
  const next_update = this_update + crlSeconds(config, 'expiry');
  // By the clock, so that a server restored from a backup never repeats a number it has
  // given out since; by the last number, should the clock have gone back.
  const number = Math.max((previous?.number ?? 0) + 1, now_ms);
  const tbs = encodeTbsCertList({
    issuer: issuer.certificate.subject,
    signatureAlgorithm,
    thisUpdate: this_update,
    nextUpdate: next_update,
    entries,
    crlNumber: BigInt(number),
    authorityKeyId: issuer.certificate.subjectKeyId ?? keyIdentifier(key.public_key),
  });
  const signature = await signWithKey(app, mount_id, key, signatureAlgorithm, tbs);
  const der = assembleSigned(tbs, signatureAlgorithm, signature);
  const crl: StoredCrl = {
    number,
    revision,
    base: listBase(authority, issuers, config),
    this_update,
    next_update,
    modified_at_ms: now_ms,
    der,
  };
  try {
    await app.store.commit([saveCrl({ mount_id, class: id, ...crl })]);
  } catch (error) {
    // Another node was quicker; whether its list suffices is looked at by whoever waits.
    if (!(error instanceof Failure && error.kind === 'conflict')) throw error;
  }
}

function listAlgorithm(
  issuer: Issuer,
  key: { key_type: string; key_bits: number },
): SignatureAlgorithm {
  const own = issuer.settings.revocation_signature_algorithm;
  if (own !== '') return own;
  const stored = issuer.certificate.signatureAlgorithm;
  const key_type = key.key_type as 'rsa' | 'ec' | 'ed25519';
  return chooseSignatureAlgorithm({
    key_type,
    key_bits: key.key_bits,
    use_pss: key_type === 'rsa' && (stored?.endsWith('PSS') ?? false),
  });
}

async function collectEntries(
  app: App,
  mount_id: string,
  { authority, issuers, config }: Ground,
): Promise<RevokedListWriter> {
  const writer = new RevokedListWriter();
  for (let after = ''; ; ) {
    const rows = await listRevocations(app.db, mount_id, { after, limit: PAGE });
    for (const row of rows) {
      if (!belongsOnList(authority, issuers, row.issuer_id)) continue;
      const serialNumber = parseSerial(row.serial);
      if (!serialNumber) throw new Error(`stored serial number ${row.serial} does not parse`);
      writer.append({
        serialNumber,
        revocationTime: Math.floor(row.revoked_at_ms / 1000),
        ...(row.reason === 0 ? {} : { reason: row.reason }),
      });
    }
    if (config.max_crl_entries !== -1 && writer.count > config.max_crl_entries) {
      throw new Failure(
        'conflict',
        `the CRL would have more than max_crl_entries (${config.max_crl_entries}) entries; raise it in config/crl, or set it to -1`,
      );
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return writer;
    after = last.serial;
    await nextTurn();
  }
}

/** Lists waiting for a moment's quiet before they are built. */
const scheduled = perApp((app) => {
  const timers = new Map<string, NodeJS.Timeout>();
  app.onClose(() => {
    for (const timer of timers.values()) clearTimeout(timer);
  });
  return timers;
});

/** Revocations that come within this time of each other share a list. */
const QUIET_MS = 100;

/** Has the list of an issuer built soon, off the request's path. */
export function scheduleCrl(app: App, mount_id: string, issuer_id: string): void {
  const timers = scheduled(app);
  const place = `${mount_id}/${issuer_id}`;
  if (timers.has(place)) return;
  const timer = setTimeout(() => {
    timers.delete(place);
    readCrl(app, mount_id, issuer_id).catch((err: unknown) => {
      if (!app.barrier.sealed) app.log.warn({ err }, 'a CRL was not built');
    });
  }, QUIET_MS);
  timer.unref();
  timers.set(place, timer);
}

/** Builds the lists of all issuers of the mount, whatever their age. */
export async function rotateCrls(app: App, caller: Caller) {
  const mount_id = caller.mount.id;
  const authority = await readAuthority(app, mount_id);
  const config = await readCrlConfig(app, mount_id);
  const wanted = await readRevision(app.db, mount_id);
  const warnings: string[] = [];
  const done = new Set<string>();
  for (const issuer of authority.issuers.values()) {
    const issuers = planClass(authority, issuer);
    if (done.has(issuers.id)) continue;
    done.add(issuers.id);
    if (!issuers.signer) {
      if (issuers.members.some(({ key_id }) => authority.keys.has(key_id))) {
        warnings.push(
          `Warning ${warnings.length + 1} during CRL rebuild: Issuer equivalency set with associated keys lacked an issuer with CRL Signing KeyUsage; refusing to rebuild CRL for this group of issuers: ${issuers.members.map(({ id }) => id).join(', ')}`,
        );
      }
      continue;
    }
    // One that is under way may have begun before the request.
    await builds(app).get(`${mount_id}/${issuers.id}`);
    await joinBuild(app, mount_id, { authority, issuers, config, wanted });
  }
  return { data: { success: true }, ...(warnings.length > 0 ? { warnings } : {}) };
}
