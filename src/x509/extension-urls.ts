/** Extensions that say where something is found: responders, issuers, CRLs. */

import { contextConstructed, oid, sequence, TAG } from './der.ts';
import { readOid } from './der-primitives.ts';
import { children, DerFields, type DerValue, expect, readDer } from './der-reader.ts';
import { readAscii } from './der-strings.ts';
import type { Extension } from './extensions.ts';
import { asciiName, GENERAL_NAME_TAG } from './general-names.ts';
import { ACCESS_OID, EXTENSION_OID } from './oids.ts';

interface AccessUrls {
  ocsp: readonly string[];
  caIssuers: readonly string[];
}

/** authorityInfoAccess: responders first, then issuer certificates; undefined when there are none. */
export function authorityInfoAccess({ ocsp, caIssuers }: AccessUrls): Extension | undefined {
  if (ocsp.length + caIssuers.length === 0) return undefined;
  const describe = (method: string, url: string, field: string): Uint8Array =>
    sequence(oid(method), asciiName(GENERAL_NAME_TAG.uri, url, field));
  return {
    oid: EXTENSION_OID.authorityInfoAccess,
    critical: false,
    value: sequence(
      ...ocsp.map((url) => describe(ACCESS_OID.ocsp, url, 'ocsp_servers')),
      ...caIssuers.map((url) => describe(ACCESS_OID.caIssuers, url, 'issuing_certificates')),
    ),
  };
}

/** The URLs; other access methods and other kinds of names are left out. */
export function parseAuthorityInfoAccess(value: Uint8Array): {
  ocsp: string[];
  caIssuers: string[];
} {
  const urls = { ocsp: [] as string[], caIssuers: [] as string[] };
  for (const item of children(expect(readDer(value), TAG.sequence))) {
    const fields = new DerFields(item);
    const method = readOid(fields.take());
    const location = fields.take();
    fields.end();
    if (location.tag !== GENERAL_NAME_TAG.uri) continue;
    if (method === ACCESS_OID.ocsp) urls.ocsp.push(readUri(location));
    if (method === ACCESS_OID.caIssuers) urls.caIssuers.push(readUri(location));
  }
  return urls;
}

/** cRLDistributionPoints, one for each URL; undefined for none. */
export function crlDistributionPoints(urls: readonly string[]): Extension | undefined {
  return distributionPoints(EXTENSION_OID.cRLDistributionPoints, urls, 'crl_distribution_points');
}

/** freshestCRL: where the delta CRLs are; undefined for none (§4.2.1.15). */
export function freshestCrl(urls: readonly string[]): Extension | undefined {
  return distributionPoints(EXTENSION_OID.freshestCRL, urls, 'delta_crl_distribution_points');
}

/** issuingDistributionPoint of a CRL for those certificates alone that name one of the URLs (§5.2.5). */
export function issuingDistributionPoint(urls: readonly string[]): Extension {
  const names = urls.map((url) => asciiName(GENERAL_NAME_TAG.uri, url, 'crl_distribution_points'));
  return {
    oid: EXTENSION_OID.issuingDistributionPoint,
    critical: true,
    // IssuingDistributionPoint { [0] distributionPoint { [0] fullName { uri … } } }
    value: sequence(contextConstructed(0, contextConstructed(0, ...names))),
  };
}

function distributionPoints(
  type: string,
  urls: readonly string[],
  field: string,
): Extension | undefined {
  if (urls.length === 0) return undefined;
  const points = urls.map((url) =>
    // DistributionPoint { [0] distributionPoint { [0] fullName { uri } } }
    sequence(
      contextConstructed(0, contextConstructed(0, asciiName(GENERAL_NAME_TAG.uri, url, field))),
    ),
  );
  return { oid: type, critical: false, value: sequence(...points) };
}

/** URLs of full names, of cRLDistributionPoints and freshestCRL; whatever else they can say is left out. */
export function parseDistributionPoints(value: Uint8Array): string[] {
  const urls: string[] = [];
  for (const item of children(expect(readDer(value), TAG.sequence))) {
    const fields = new DerFields(item);
    const point = fields.takeIf(0xa0);
    fields.takeIf(0x81);
    fields.takeIf(0xa2);
    fields.end();
    for (const name of point ? children(point) : []) {
      if (name.tag !== 0xa0) continue;
      for (const uri of children(name)) {
        if (uri.tag === GENERAL_NAME_TAG.uri) urls.push(readUri(uri));
      }
    }
  }
  return urls;
}

function readUri(name: DerValue): string {
  return readAscii(expect(name, GENERAL_NAME_TAG.uri));
}
