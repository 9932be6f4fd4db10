import { EXT_KEY_USAGE_NAMES, KEY_USAGE_NAMES } from '../../x509/key-usages.ts';

/** A usage as programs write it, e.g. `KeyUsage.KeyUsageCertSign`. */
interface UsageConstant {
  constant: string;
  number: number;
  /** As the rest of the API spells it. */
  name: string;
}

/** Each is a bit, so that a sum of some stands for all of them. */
export const KEY_USAGES: readonly UsageConstant[] = KEY_USAGE_NAMES.map((name, bit) => ({
  constant: `KeyUsage${name}`,
  number: 1 << bit,
  name,
}));

export const EXT_KEY_USAGES: readonly UsageConstant[] = EXT_KEY_USAGE_NAMES.map((name, number) => ({
  constant: `ExtKeyUsage${name}`,
  number,
  name,
}));
