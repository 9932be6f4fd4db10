import { z } from 'zod';
import { connectionSettings, publicConnectionSettings } from './connections.ts';
import { absentAsNull, address, ignored, oneOf, TRUE_OR_FALSE, text } from './kinds.ts';

const listenerSettings = {
  address: address.prefault('127.0.0.1:8200').describe('of both APIs'),
  ...connectionSettings,
};

const pemFile = text.meta({ otherwise: 'none; needed for TLS' });

const TLS_DISABLE = {
  takes: 'true or false',
  otherwise: '`false`',
  description: 'plain HTTP, for a proxy in front',
};

export const listener = z.preprocess(
  (value) => value ?? {},
  z.discriminatedUnion(
    'tls_disable',
    [
      z.strictObject({
        tls_disable: z.literal(false).optional().meta(TLS_DISABLE),
        tls_cert_file: pemFile.describe(
          'PEM file, the chain after the certificate; read anew on SIGHUP',
        ),
        tls_key_file: pemFile.describe('PEM file of its key; read anew with it'),
        ...listenerSettings,
      }),
      z.strictObject({
        tls_disable: z.literal(true).meta(TLS_DISABLE),
        tls_cert_file: ignored,
        tls_key_file: ignored,
        ...listenerSettings,
      }),
    ],
    { error: oneOf(TRUE_OR_FALSE) },
  ),
);

export const publicListener = absentAsNull(
  z
    .strictObject({
      address: address.prefault('127.0.0.1:8280').meta({
        description:
          'plain HTTP for relying parties: CRLs, OCSP and CA certificates, under the same paths as those of the API, and nothing else; no token is looked at there',
      }),
      ...publicConnectionSettings,
    })
    .optional(),
);
