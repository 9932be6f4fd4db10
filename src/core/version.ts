import manifest from '../../package.json' with { type: 'json' };

/** The version of this program. */
export const VERSION: string = manifest.version;

/**
 * The Vault version whose behaviour clients may expect. They read it as a semantic version,
 * and one with a suffix (`-dev`) sorts below it and switches features off.
 */
export const COMPATIBLE_VERSION = '1.21.5';

/** When the behaviour described by that version was settled here, RFC 3339. */
export const BUILD_DATE = '2026-11-21T00:00:00Z';
