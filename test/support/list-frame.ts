import { encodeCrlFrame } from '../../src/x509/crl.ts';

/** The frame of a CRL, signed with Ed25519. */
export const CRL_FRAME = encodeCrlFrame({
  issuer: Uint8Array.of(0x30, 0),
  signatureAlgorithm: 'PureEd25519',
  thisUpdate: 1_800_000_000,
  nextUpdate: 1_800_086_400,
  crlNumber: 1n,
  authorityKeyId: new Uint8Array(20),
});
