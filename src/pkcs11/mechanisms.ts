import { CKG_MGF1, CKM } from './constants.ts';
import type { GcmParameters, SignMechanism } from './orders.ts';
import { structureOf } from './structures.ts';

/** CK_MECHANISM. */
export interface Mechanism {
  type: number;
  parameter?: Buffer | undefined;
}

const HASHES = { sha256: CKM.SHA256, sha384: CKM.SHA384, sha512: CKM.SHA512 } as const;
const HASHED_PSS = {
  sha256: CKM.SHA256_RSA_PKCS_PSS,
  sha384: CKM.SHA384_RSA_PKCS_PSS,
  sha512: CKM.SHA512_RSA_PKCS_PSS,
} as const;

export function mechanismOf(mechanism: SignMechanism): Mechanism {
  switch (mechanism.name) {
    case 'RSA_PKCS_PSS':
    case 'HASH_RSA_PKCS_PSS': {
      const { name, hash, salt } = mechanism;
      const type = name === 'RSA_PKCS_PSS' ? CKM.RSA_PKCS_PSS : HASHED_PSS[hash];
      return { type, parameter: structureOf(HASHES[hash], CKG_MGF1[hash], salt) };
    }
    default:
      return { type: CKM[mechanism.name] };
  }
}

const TAG_BITS = 128;

/** CK_GCM_PARAMS. */
export function gcmOf({ iv, aad }: GcmParameters): Mechanism {
  const held = [Buffer.from(iv), Buffer.from(aad)] as const;
  const parameter = structureOf(
    ...[held[0], held[0].length, held[0].length * 8],
    ...[held[1], held[1].length, TAG_BITS],
  );
  return { type: CKM.AES_GCM, parameter };
}
