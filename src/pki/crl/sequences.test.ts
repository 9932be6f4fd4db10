/** Random sequences of revocations, builds, restarts and steps of the clock, held against a small model. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, testCaller } from '../../../test/support/app.ts';
import { type Crl, isCrlSignedBy, parseCrl } from '../../../test/support/crl.ts';
import {
  asNode,
  makeIssuer,
  noteShards,
  numberedSerial,
} from '../../../test/support/crl-mounts.ts';
import { eachPlace, type Place } from '../../../test/support/engines.ts';
import type { App } from '../../app/app.ts';
import type { Mount } from '../../app/mount.ts';
import type { Store } from '../../store/store.ts';
import { findExtension } from '../../x509/extensions.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import { formatSerial } from '../../x509/serial.ts';
import { readMountState } from '../mount-state/operations.ts';
import { insertRevocation } from '../mount-state/revocations.store.ts';
import { COMPLETE, type CrlKind, DELTA } from './kind.ts';
import { readCrl } from './operations.ts';
import { renewDueCrls } from './renewal.operations.ts';
import { rotateCrls, rotateDeltaCrls } from './rotation.operations.ts';
import { writeCrlConfig } from './settings.operations.ts';
import { isWithin, MOST_SHARDS, nameShard, rangeOf, type Shard } from './shards.ts';

/** The same numbers at every run. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

interface Certificate {
  serial: string;
  not_after: number;
  /** Unix seconds; undefined: not revoked. */
  revoked?: number;
  /** The number of the first complete CRL that has shown it after its end. */
  shown_past?: bigint;
}

const INTERVAL_S = 900;

/** What the serial numbers here are in. */
const SHARDS: Shard[] = [0, 1, 2].map((number) => ({ number, count: MOST_SHARDS }));

/** A server, and what is known of it from outside. */
class Run {
  readonly certificates: Certificate[] = [];
  readonly seen = new Map<string, Buffer>();
  /** Numbers by place. Complete CRL and delta share theirs. */
  readonly last = new Map<string, bigint>();
  latest = 0;
  config = { auto_rebuild: false, enable_delta: false, disable: false };
  /** Entries may be shown once more after lists of another kind. */
  reappearing = false;
  readonly place: Place;
  readonly mount: Mount;
  readonly issuer_id: string;
  readonly clock: { now: number };
  app: App;

  constructor(at: {
    place: Place;
    app: App;
    clock: { now: number };
    mount: Mount;
    issuer_id: string;
  }) {
    this.place = at.place;
    this.app = at.app;
    this.clock = at.clock;
    this.mount = at.mount;
    this.issuer_id = at.issuer_id;
  }

  issue(lifetime: number): void {
    const serial = numberedSerial(this.certificates.length);
    this.certificates.push({ serial, not_after: this.clock.now + lifetime });
  }

  async revoke(certificate: Certificate | undefined): Promise<void> {
    const { now } = this.clock;
    if (!certificate || certificate.revoked !== undefined || certificate.not_after <= now) return;
    const { serial, not_after } = certificate;
    const { issuer_id } = this;
    const revocation = { serial, issuer_id, revoked_at_ms: now * 1000, reason: 0, not_after };
    await this.app.store.commit(insertRevocation(this.mount.id, revocation));
    certificate.revoked = now;
  }

  async configure(next: Partial<Run['config']>): Promise<void> {
    const config = { ...this.config, ...next };
    config.enable_delta &&= config.auto_rebuild;
    if (config.disable !== this.config.disable) this.reappearing = true;
    this.config = config;
    const delta_rebuild_interval = `${INTERVAL_S}s`;
    await writeCrlConfig(this.app, testCaller(this.mount), { ...config, delta_rebuild_interval });
  }

  async restart(): Promise<void> {
    const before: Store = this.app.store;
    await before.close();
    this.app = asNode(this.app, await this.place.open());
  }

  async read(kind: CrlKind): Promise<Crl> {
    const found = await readCrl(this.app, this.mount.id, 'default', kind);
    assert.ok(found);
    const crl = parseCrl(found.der);
    const { issuers } = await readMountState(this.app, this.mount.id);
    const issuer = issuers.get(this.issuer_id);
    assert.ok(issuer && isCrlSignedBy(crl, issuer.certificate.subjectPublicKeyInfo));
    const number = crl.crlNumber ?? 0n;
    const counter = kind.shard ? nameShard(kind.shard) : 'complete';
    const last = this.last.get(counter) ?? 0n;
    const before = this.seen.get(`${counter} ${number}`);
    if (before) assert.deepEqual(Buffer.from(found.der), before, 'one number, one CRL');
    else assert.ok(number > last, `${number} after ${last}`);
    this.seen.set(`${counter} ${number}`, Buffer.from(found.der));
    if (number > last) this.last.set(counter, number);
    return crl;
  }

  /** Reads both, and judges them. @param rotated which were asked for just now */
  async judge(rotated?: CrlKind): Promise<void> {
    this.latest = Math.max(this.latest, this.clock.now);
    const complete = await this.read(COMPLETE);
    const delta = await this.read(DELTA);
    assert.equal(delta.deltaBase, complete.crlNumber);
    assert.equal(complete.deltaBase, undefined);
    const onComplete = this.listed(complete);
    const onDelta = this.listed(delta);
    await this.judgeShards(rotated);
    if (this.config.disable) {
      assert.deepEqual([...onComplete, ...onDelta], []);
      return;
    }
    const shownBefore = new Set(this.certificates.filter(({ shown_past }) => shown_past));
    for (const certificate of this.certificates) {
      const isOn = onComplete.has(certificate.serial) || onDelta.has(certificate.serial);
      const why = `${certificate.serial} revoked ${certificate.revoked}, ends ${certificate.not_after}`;
      if (this.isPromised(certificate, rotated)) {
        assert.ok(isOn || certificate.shown_past !== undefined, `is missing: ${why}`);
      }
      if (!onComplete.has(certificate.serial)) continue;
      const isSame = certificate.shown_past === complete.crlNumber;
      const mayBeOn = isSame || this.reappearing || !shownBefore.has(certificate);
      assert.ok(mayBeOn, `is shown once more: ${why}`);
      if (certificate.not_after < complete.thisUpdate) {
        certificate.shown_past ??= complete.crlNumber ?? 0n;
      }
    }
  }

  /** Certificates are on their shard as on the complete CRL, but for deltas, which shards have none of. */
  async judgeShards(rotated: CrlKind | undefined): Promise<void> {
    for (const shard of SHARDS) {
      const crl = await this.read({ ...COMPLETE, shard });
      assert.ok(findExtension(crl.extensions, EXTENSION_OID.issuingDistributionPoint)?.critical);
      const listed = this.listed(crl);
      if (this.config.disable) assert.equal(listed.size, 0);
      for (const { serial } of this.certificates) {
        if (!isWithin(rangeOf(shard), serial)) assert.equal(listed.has(serial), false, serial);
      }
      if (this.config.disable || (this.config.auto_rebuild && rotated !== COMPLETE)) continue;
      for (const { serial, revoked, not_after } of this.certificates) {
        if (revoked === undefined || !isWithin(rangeOf(shard), serial)) continue;
        // What has ended was shown by some CRL of the shard before, or is on this one.
        if (not_after > this.latest) assert.ok(listed.has(serial), `${serial} is missing`);
      }
    }
  }

  /** What a CRL has, each revoked, at the time when it was. */
  listed(crl: Crl): Set<string> {
    const known = new Map(this.certificates.map((one) => [one.serial, one]));
    const serials = new Set<string>();
    for (const { serialNumber, revocationTime } of crl.entries()) {
      const serial = formatSerial(serialNumber);
      assert.equal(known.get(serial)?.revoked, revocationTime, serial);
      assert.equal(serials.has(serial), false, `${serial} twice`);
      serials.add(serial);
    }
    return serials;
  }

  /** Whether a certificate has to be on the complete CRL or its delta by the settings. */
  isPromised({ revoked }: Certificate, rotated: CrlKind | undefined): boolean {
    if (revoked === undefined) return false;
    const { auto_rebuild, enable_delta } = this.config;
    if (!auto_rebuild || rotated === COMPLETE) return true;
    if (!enable_delta) return false;
    if (rotated === DELTA) return true;
    // While the clock is behind, a CRL may be of a time that is still to come.
    return this.clock.now >= this.latest && this.clock.now >= revoked + INTERVAL_S;
  }

  async step(roll: (below: number) => number): Promise<void> {
    const caller = testCaller(this.mount);
    switch (roll(12)) {
      case 0:
      case 1:
      case 2:
        this.issue(60 + roll(40) * 3600);
        return this.revoke(this.certificates[roll(this.certificates.length)]);
      case 3:
        this.clock.now += roll(20) * 3600;
        return this.judge();
      case 4:
        this.clock.now += roll(1800);
        return this.judge();
      case 5:
        this.clock.now -= roll(7200);
        return this.judge();
      case 6:
        await rotateCrls(this.app, caller);
        return this.judge(COMPLETE);
      case 7:
        await rotateDeltaCrls(this.app, caller);
        return this.judge(this.config.enable_delta ? DELTA : undefined);
      case 8:
        await renewDueCrls(this.app, { stopping: false });
        return this.judge();
      case 9:
        await this.restart();
        return this.judge();
      case 10:
        await this.configure({ auto_rebuild: roll(3) > 0, enable_delta: roll(3) > 0 });
        return this.judge();
      default:
        await this.configure({ disable: roll(4) === 0 });
        return this.judge();
    }
  }
}

const SEEDS = [1, 2, 3, 4];
const STEPS = 120;

eachPlace('sequences of CRLs', (newPlace) => {
  for (const seed of SEEDS) {
    test(`whatever happens, lists verify, numbers grow, and what was revoked is shown as promised: ${seed}`, async () => {
      const place = await newPlace();
      const { app, clock } = await openTestApp(await place.open());
      const made = await makeIssuer(app);
      const run = new Run({ place, app, clock, ...made });
      await noteShards(app, made.mount, MOST_SHARDS);
      const roll = dice(seed);
      for (let count = 0; count < 5; count++) run.issue(3600 * (1 + roll(50)));
      for (let step = 0; step < STEPS; step++) await run.step(roll);
    });
  }
});
