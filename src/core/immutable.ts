/** Nobody changes what was handed back: it may be kept, and is written as it is. */
export type Immutable<T> = T extends Uint8Array
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Immutable<Item>[]
    : T extends object
      ? { readonly [Name in keyof T]: Immutable<T[Name]> }
      : T;
