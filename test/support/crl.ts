import { type CrlHeader, encodeCrlFrame } from '../../src/x509/crl.ts';
import { header, sequence, TAG } from '../../src/x509/der.ts';
import { RevokedEntriesWriter, type RevokedEntry } from '../../src/x509/revoked-certificates.ts';

export { type Crl, isCrlSignedBy, parseCrl } from '../../src/x509/crl-reader.ts';

/** CRLs as clients read them, and whole ones of few entries. The server lays its own out in pieces. */

export interface TbsCertList extends CrlHeader {
  /** Few entries as they are, many in a writer, which needs no object for each. */
  entries: Iterable<RevokedEntry> | RevokedEntriesWriter;
}

/**
 * TBSCertList, the bytes that are signed. The entries are copied once.
 *
 * @throws RangeError for an entry that {@link RevokedEntriesWriter.append} refuses
 * @see RFC 5280 §5.1.2, §5.2
 */
export function encodeTbsCertList(list: TbsCertList): Uint8Array {
  const revoked = writeEntries(list.entries);
  const { before, after } = encodeCrlFrame(list);
  return sequence(
    before,
    // An empty list of entries is left out, never written as empty (§5.1.2.6).
    ...(revoked.count === 0 ? [] : [header(TAG.sequence, revoked.length), ...revoked.chunks()]),
    after,
  );
}

function writeEntries(
  entries: Iterable<RevokedEntry> | RevokedEntriesWriter,
): RevokedEntriesWriter {
  if (entries instanceof RevokedEntriesWriter) return entries;
  const writer = new RevokedEntriesWriter();
  for (const entry of entries) writer.append(entry);
  return writer;
}
