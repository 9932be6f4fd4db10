import { build } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';

export function insertActivation(activation: {
  token_hmac: string;
  worker_id: string;
  expires_ms: number;
}): Write {
  return write(build.insertInto('worker_activation').values(activation), { rows: 1 });
}

/** Of a worker that is removed. */
export function deleteActivations(worker_id: string): Write {
  return write(build.deleteFrom('worker_activation').where('worker_id', '=', worker_id));
}

export function deleteActivationsBefore(expires_ms: number): Write {
  return write(build.deleteFrom('worker_activation').where('expires_ms', '<', expires_ms));
}
