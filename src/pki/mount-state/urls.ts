import { z } from 'zod';
import { parseUrl } from '../../core/domain-names.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { flag, modestList, text } from '../../core/fields.ts';
import { patchOf } from '../../core/patches.ts';
import { mayHaveUser } from '../../core/place.ts';

/** URLs that certificates carry to lead to their issuer, its CRL and its OCSP responder. */
export const urlFields = {
  issuing_certificates: modestList([]).describe('URLs of the issuer certificate (caIssuers).'),
  crl_distribution_points: modestList([]).describe('URLs of the CRL.'),
  ocsp_servers: modestList([]).describe('URLs of OCSP responders.'),
  delta_crl_distribution_points: modestList([]).describe('URLs of the delta CRL (freshestCRL).'),
};
export type AuthorityUrls = z.output<z.ZodObject<typeof urlFields>>;

/** The fields of `config/urls`. */
const urlSettingFields = {
  ...urlFields,
  enable_templating: flag(false).describe(
    'Replace {{cluster_path}}, {{cluster_aia_path}} and {{issuer_id}} in the URLs at each issuance; in crl_distribution_points {{crl_shard}}, too.',
  ),
};
export const urlSettingsSchema = z.object(urlSettingFields);
export type UrlSettings = z.output<typeof urlSettingsSchema>;
export const urlPatchSchema = patchOf(urlSettingFields);
export type UrlPatch = z.output<typeof urlPatchSchema>;

export const NO_URLS: AuthorityUrls = z.object(urlFields).parse({});

/** @param body as it was stored, by whatever rules there were then; undefined for nothing yet */
export function readUrlSettings(body: string | undefined): UrlSettings {
  const stored: Partial<UrlSettings> = JSON.parse(body ?? '{}');
  return { ...NO_URLS, enable_templating: false, ...stored };
}

const clusterFields = {
  path: text('').describe(
    'Where this cluster has the mount, as a URL; in templates `{{cluster_path}}`.',
  ),
  aia_path: text('').describe(
    'Where relying parties have it, perhaps elsewhere; in templates `{{cluster_aia_path}}`.',
  ),
};
export const clusterSchema = z.object(clusterFields);
/** Where this cluster is reached; empty when not configured. */
export type ClusterPaths = z.output<typeof clusterSchema>;
export const clusterPatchSchema = patchOf(clusterFields);
export type ClusterPatch = z.output<typeof clusterPatchSchema>;

/** The record with a cluster's paths; that of the one without a name is from before there were several. */
export const clusterRecord = (cluster_name: string): string =>
  cluster_name === '' ? 'cluster' : `cluster/${cluster_name}`;

/**
 * @throws Failure `invalid` for what is no URL
 * @see P-482
 */
export function checkClusterPaths({ path, aia_path }: ClusterPaths): void {
  for (const [name, url] of Object.entries({ path, aia_path })) {
    if (url === '' || (isUrl(url) && !hasUser(url))) continue;
    throw invalid(`invalid, non-URL path given to cluster: ${name}`);
  }
}

export const URL_FIELDS = [
  'crl_distribution_points',
  'delta_crl_distribution_points',
  'issuing_certificates',
  'ocsp_servers',
] as const;

/** Stands in a URL for the shard of a certificate whose serial number is not known yet; see `crl/shards.ts`. */
export const SHARD = '{{crl_shard}}';
/** What it is where there are no shards: the complete CRL. */
export const UNSHARDED = 'all';

export const namesShard = (url: string): boolean => /\{\{\s*crl_shard\s*\}\}/.test(url);

const TEMPLATE = /\{\{\s*(\w+)\s*\}\}/g;

/**
 * Checks URLs as they are configured; with templates only that they have the known ones.
 *
 * @throws Failure `invalid` naming the first bad one
 * @see P-105
 */
export function checkUrls(urls: AuthorityUrls, templating: boolean): void {
  for (const field of URL_FIELDS) {
    for (const url of urls[field]) {
      const samples = field === 'crl_distribution_points' ? CRL_SAMPLES : SAMPLES;
      const filled = templating ? fillIn(url, samples) : url;
      if (hasUser(filled)) {
        throw invalid(`${field}: a URL in certificates has no user or password`, {
          fields: { [field]: 'URLs without user information' },
        });
      }
      if (!isUrl(filled)) {
        // What may let somebody in is not repeated, nor a part of it that a comma makes one.
        const which = urls[field].some(mayHaveUser) ? '' : `: ${url}`;
        throw invalid(
          `invalid URL found in Authority Information Access (AIA) parameter ${field}${which}`,
          { fields: { [field]: 'URLs with a scheme and a host' } },
        );
      }
    }
  }
}

const SAMPLES = new Map([
  ['cluster_path', () => 'http://cluster.invalid'],
  ['cluster_aia_path', () => 'http://cluster.invalid'],
  ['issuer_id', () => 'id'],
]);
const CRL_SAMPLES = new Map([...SAMPLES, ['crl_shard', () => UNSHARDED]]);

const fillIn = (url: string, values: ReadonlyMap<string, () => string>): string =>
  url.replaceAll(TEMPLATE, (template, name: string) => values.get(name)?.() ?? template);

// The URL goes into an IA5String as it was written, so only what needs no escaping is taken.
function isUrl(text: string): boolean {
  return (
    /^[a-zA-Z][\w+.-]*:\/\/[^\s{}<>"\\^`|/?#][^\s{}<>"\\^`|]*$/.test(text) &&
    /^[\x21-\x7e]*$/.test(text) &&
    parseUrl(text) !== undefined
  );
}

/** Whoever reads a certificate would be let in by it. */
function hasUser(text: string): boolean {
  const url = parseUrl(text);
  if (!url) return /:\/\/[^/?#]*@/.test(text);
  return url.username !== '' || url.password !== '';
}

export function hasUrls(urls: AuthorityUrls): boolean {
  return URL_FIELDS.some((field) => urls[field].length > 0);
}

/** Whether a certificate by an issuer that does not exist yet cannot carry these URLs. */
export function namesIssuer(urls: AuthorityUrls): boolean {
  return URL_FIELDS.some((field) => urls[field].some((url) => /\{\{\s*issuer_id\s*\}\}/.test(url)));
}

/**
 * A warning for templates that cannot be filled yet. `path` is what others are built upon, so it is missed in any case,
 * `aia_path` only where a URL has it.
 *
 * @see P-449
 */
export function warnOfTemplates(
  templating: boolean,
  urls: AuthorityUrls,
  cluster: ClusterPaths,
): string[] {
  if (!templating) return [];
  const usesAiaPath = URL_FIELDS.some((field) =>
    urls[field].some((url) => /\{\{\s*cluster_aia_path\s*\}\}/.test(url)),
  );
  const missed = [
    ...(cluster.path === '' ? ['"path"'] : []),
    ...(cluster.aia_path === '' && usesAiaPath ? ['"aia_path"'] : []),
  ];
  if (missed.length === 0) return [];
  return [
    `templating of AIA URLs is enabled, but config/cluster lacks ${missed.join(' and ')}: issuance may fail until it is set`,
  ];
}

/**
 * Fills in the templates of an issuer's URLs.
 *
 * @throws Failure `unresolved` when the cluster's paths are wanted and not configured
 * @see P-107
 */
export function expandUrls(
  urls: AuthorityUrls,
  {
    issuer_id,
    cluster,
    crl_shard = UNSHARDED,
  }: { issuer_id: string; cluster: ClusterPaths; crl_shard?: string },
): AuthorityUrls {
  const values = new Map([
    ['cluster_path', () => requirePath(cluster.path)],
    ['cluster_aia_path', () => requirePath(cluster.aia_path)],
    ['issuer_id', () => issuer_id],
  ]);
  const ofCrls = new Map([...values, ['crl_shard', () => crl_shard]]);
  const expand = (url: string, by = values): string => {
    const filled = fillIn(url, by);
    if (!isUrl(filled.replaceAll(SHARD, UNSHARDED))) {
      const which = mayHaveUser(filled) ? 'one' : filled;
      throw invalid(`unable to template AIA URLs: ${which} is not a URL`);
    }
    return filled;
  };
  return {
    issuing_certificates: urls.issuing_certificates.map((url) => expand(url)),
    crl_distribution_points: urls.crl_distribution_points.map((url) => expand(url, ofCrls)),
    ocsp_servers: urls.ocsp_servers.map((url) => expand(url)),
    delta_crl_distribution_points: urls.delta_crl_distribution_points.map((url) => expand(url)),
  };
}

function requirePath(path: string): string {
  if (path !== '') return path.replace(/\/$/, '');
  throw new Failure(
    'unresolved',
    'unable to template AIA URLs as we lack local cluster address information (path)',
  );
}
