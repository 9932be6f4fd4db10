/** When a certificate is valid. Unix seconds. */
export interface Validity {
  not_before: number;
  not_after: number;
}

/**
 * The nearest of some times ahead of the end at which a certificate is to be warned about by now. One that is longer than two
 * thirds of the whole validity says nothing: of a certificate that is good for three days nobody need hear a month before.
 *
 * @param before seconds
 * @param now Unix seconds
 * @returns undefined when it is not time yet, or never
 */
export function chooseThreshold(
  before: readonly number[],
  { not_before, not_after }: Validity,
  now: number,
): number | undefined {
  const lifetime = not_after - not_before;
  const due = before.filter((ahead) => ahead * 3 <= lifetime * 2 && not_after <= now + ahead);
  return due.length === 0 ? undefined : Math.min(...due);
}
