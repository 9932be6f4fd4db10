/**
 * The last look at a certificate before it is signed: what RFC 5280 forbids is found here, whoever
 * planned it. A finding is a mistake of ours or of an operator's settings.
 */

import type { TbsCertificate } from './certificate.ts';
import { findExtension } from './extensions.ts';
import { describePublicKey } from './keys.ts';
import { isCa, lintExtensions } from './lint-extensions.ts';
import { attempt, type Report } from './lint-findings.ts';
import { isEmptyName, parseName } from './names.ts';
import { EXTENSION_OID } from './oids.ts';

/** 9999-12-31T23:59:59Z, the last moment a certificate can name. */
const LAST_TIME = 253_402_300_799;
const MAX_SERIAL = 20;

/**
 * What is wrong with a certificate by RFC 5280, one sentence each; empty when nothing is. Linear in
 * the certificate's size.
 */
export function lintTbsCertificate(tbs: TbsCertificate): string[] {
  const problems: string[] = [];
  const report = (problem: string): void => void problems.push(problem);
  lintSerial(tbs.serialNumber, report);
  lintValidity(tbs, report);
  lintNames(tbs, report);
  attempt(report, 'subjectPublicKeyInfo', () => describePublicKey(tbs.subjectPublicKeyInfo));
  lintExtensions(tbs, report);
  return problems;
}

/** §4.1.2.2 */
function lintSerial(serial: Uint8Array, report: Report): void {
  if (!isPositive(serial)) report('the serial number must be positive');
  const signByte = (serial[0] ?? 0) >= 0x80 ? 1 : 0;
  if (serial.length + signByte > MAX_SERIAL) {
    report(`the serial number must not take more than ${MAX_SERIAL} bytes`);
  }
}

function isPositive(magnitude: Uint8Array): boolean {
  for (const byte of magnitude) if (byte !== 0) return true;
  return false;
}

/** §4.1.2.5 */
function lintValidity({ notBefore, notAfter }: TbsCertificate, report: Report): void {
  lintTime('notBefore', notBefore, report);
  lintTime('notAfter', notAfter, report);
  if (notBefore > notAfter) report('notBefore must not be later than notAfter');
}

function lintTime(name: string, time: number, report: Report): void {
  if (!Number.isInteger(time) || time > LAST_TIME || time < 0) {
    report(`${name} must be a whole second between 1970 and 9999`);
  }
}

/** Issuers' names that were found in order, by identity: a CA signs with the same bytes each time. */
const soundNames = new WeakSet<Uint8Array>();

/** §4.1.2.4, §4.1.2.6 */
function lintNames(tbs: TbsCertificate, report: Report): void {
  if (isEmptyName(tbs.issuer)) report('the issuer must not be empty');
  if (!soundNames.has(tbs.issuer)) {
    if (attempt(report, 'issuer', () => parseName(tbs.issuer))) soundNames.add(tbs.issuer);
  }
  attempt(report, 'subject', () => parseName(tbs.subject));
  const altNames = findExtension(tbs.extensions, EXTENSION_OID.subjectAltName);
  if (!isEmptyName(tbs.subject)) return;
  if (isCa(tbs.extensions)) report('the subject of an authority must not be empty');
  else if (!altNames) report('a certificate needs a subject or a subjectAltName');
  else if (!altNames.critical) report('subjectAltName must be critical when the subject is empty');
}
