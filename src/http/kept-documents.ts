import { Failure } from '../core/failure.ts';
import { type Asker, FairTurns } from '../core/fair-turns.ts';
import { ROOMS } from '../core/rooms.ts';

/** Documents that are kept, or being drawn up. */
const MOST_KEPT = 16;

/** What a document depends on. */
export interface Wanted {
  /** Made anew whenever configuration changes. */
  mounts: object;
  /** What may be seen; undefined: what everybody may. The same object for the same policies. */
  acl: object | undefined;
  form: string;
  asker: Pick<Asker, 'party' | 'site'>;
}

/**
 * Documents that are drawn up once for all who may see the same, one at a time, and kept until
 * configuration changes: many are large, and some are for everybody.
 */
export class KeptDocuments {
  readonly #turns = new FairTurns({ at_once: 1, waiting: 64, waiting_each: 16 }, () => tooMany());
  readonly #most_bytes: number;
  #mounts: object | undefined;
  /** Who asked least lately stands first; the bytes are 0 until it is drawn up. */
  #kept = new Map<object, Map<string, Document>>();

  /** @param most_bytes of documents that are kept, beside the newest */
  constructor(most_bytes: number = ROOMS.documents) {
    this.#most_bytes = most_bytes;
  }

  /** @throws Failure `rate_limited` when too many others wait to be drawn up */
  read(wanted: Wanted, drawUp: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const { mounts, acl = EVERYBODY, form } = wanted;
    // Others wait for the same document: that one has gone is no reason not to make it.
    const { party, site = party } = wanted.asker;
    if (mounts !== this.#mounts) this.#kept = new Map();
    this.#mounts = mounts;
    const kept = this.#kept;
    const forms = kept.get(acl) ?? new Map<string, Document>();
    kept.delete(acl);
    kept.set(acl, forms);
    const known = forms.get(form);
    if (known) return known.text;
    const text = this.#turns.take({ party, site }, drawUp);
    const document: Document = { text, length: 0 };
    forms.set(form, document);
    this.#bound(kept, acl);
    text.then(
      ({ length }) => {
        document.length = length;
        this.#bound(kept, acl);
      },
      () => forms.delete(form),
    );
    return text;
  }

  /** How many documents are kept. */
  get count(): number {
    return documentsIn(this.#kept).length;
  }

  #bound(kept: Map<object, Map<string, Document>>, newest: object): void {
    for (const acl of kept.keys()) {
      const all = documentsIn(kept);
      const bytes = all.reduce((sum, { length }) => sum + length, 0);
      if (acl === newest || (all.length <= MOST_KEPT && bytes <= this.#most_bytes)) return;
      kept.delete(acl);
    }
  }
}

interface Document {
  text: Promise<Uint8Array>;
  length: number;
}

const EVERYBODY = {};

const documentsIn = (kept: Map<object, Map<string, Document>>): Document[] =>
  [...kept.values()].flatMap((forms) => [...forms.values()]);

function tooMany(): Failure {
  return new Failure('rate_limited', 'too many documents are being drawn up, try again', {
    retry_after: 1,
  });
}
