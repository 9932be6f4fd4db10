import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import { Failure } from '../../../core/failure.ts';
import { listKeys } from '../../../core/key-list.ts';
import { formatTimestamp } from '../../../core/timestamps.ts';
import { canonicaliseSerial } from '../../../x509/serial.ts';
import { findMetadata, listMetadataSerials } from './store.ts';

/** @param input.serial hexadecimal digits, with or without separators */
export async function readMetadata(app: App, caller: Caller, input: { serial: string }) {
  const serial = canonicaliseSerial(input.serial) ?? '';
  const found = await findMetadata(app.db, caller.mount.id, serial);
  if (!found) throw new Failure('not_found', '');
  const { issuer_id, role, not_after, data } = found;
  const cert_metadata = Buffer.from(data).toString('base64');
  const expiration = formatTimestamp(not_after);
  return { data: { serial_number: serial, issuer_id, role, expiration, cert_metadata } };
}

/** Serial numbers that have metadata, in order of their text, or one page of them. */
export function listMetadata(
  app: App,
  caller: Caller,
  input: { after?: string | undefined; limit?: number | undefined },
) {
  const { id: mount_id } = caller.mount;
  return listKeys((page) => listMetadataSerials(app.db, { mount_id, ...page }), input);
}
