/** Which of the CRLs of a class of issuers is meant. */
export interface CrlKind {
  /** What was revoked since the complete one (RFC 5280 §5.2.4). */
  delta: boolean;
}

export const COMPLETE: CrlKind = { delta: false };
export const DELTA: CrlKind = { delta: true };

/** The complete CRL that a delta adds to; itself of one that is complete. */
export const completeOf = (kind: CrlKind): CrlKind => ({ ...kind, delta: false });

/** How a CRL of a class is told from its others where they are stored. */
export const crlName = (class_id: string, { delta }: CrlKind): string =>
  delta ? `${class_id}/delta` : class_id;

/** The class and the kind that a name is of. */
export function parseCrlName(name: string): { class_id: string; kind: CrlKind } {
  const [class_id = '', ...parts] = name.split('/');
  return { class_id, kind: { delta: parts.includes('delta') } };
}
