import type { KeyObject } from 'node:crypto';
import type { FailureKind } from '../../../core/failure.ts';
import type { AssembledCrl, CrlLayout } from '../../../x509/crl-assembly.ts';
import type { CrlJob } from './job.ts';

/** What the CRL thread shall do with a job. */
export type CrlTask =
  /** The key is this process's own object, not a copy: the thread drops it with the message. */
  | { kind: 'make'; key: KeyObject }
  /** Of a key that is kept elsewhere: whoever asked has it signed. */
  | { kind: 'lay out' }
  | { kind: 'remake'; signature: Uint8Array; public_key: Uint8Array };

export interface ToCrlThread {
  id: number;
  job: CrlJob;
  task: CrlTask;
}

export type FromCrlThread = { id: number } & (
  | { type: 'made'; crl: AssembledCrl; signature: Uint8Array }
  /** Its memory is shared: nothing of it is copied. */
  | { type: 'laid out'; layout: CrlLayout }
  | { type: 'remade'; crl: AssembledCrl | undefined }
  | { type: 'refused'; kind: FailureKind; message: string }
  | { type: 'failed'; message: string }
);
