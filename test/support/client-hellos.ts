import { readFileSync } from 'node:fs';

/** A first message of a TLS client, as it came over the wire. */
export function readHello(
  name: 'node' | 'openssl' | 'openssl-without-names' | 'go',
): Buffer<ArrayBuffer> {
  const file = new URL(`../vectors/client-hellos/${name}.hex`, import.meta.url);
  return Buffer.from(readFileSync(file, 'latin1').replaceAll('\n', ''), 'hex');
}
