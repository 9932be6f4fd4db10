import { Failure } from '../core/failure.ts';
import type { Asker } from '../core/fairness/asker.ts';
import { doFor } from '../core/fairness/asking.ts';
import { FairTurns } from '../core/fairness/fair-turns.ts';
import { networkOfParty, SHARED_PARTY } from '../core/fairness/party.ts';
import { ROOMS } from '../core/rooms.ts';

/** Documents that are kept, or being drawn up. */
const MOST_KEPT = 16;

/** What a document depends on. */
interface DocumentRequest {
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
  readonly #mostBytes: number;
  #mounts: object | undefined;
  /** By who may see them, which is not held here; who asked least lately stands first. */
  #kept = new Map<symbol, Map<string, Document>>();
  readonly #viewers = new WeakMap<object, symbol>();

  /** @param mostBytes of documents that are kept, beside the newest */
  constructor(mostBytes: number = ROOMS.documents) {
    this.#mostBytes = mostBytes;
  }

  /** @throws Failure `rate_limited` when too many others wait to be drawn up */
  read(wanted: DocumentRequest, drawUp: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const { mounts, form } = wanted;
    const viewer = this.#viewerOf(wanted.acl ?? EVERYBODY);
    if (mounts !== this.#mounts) this.#kept = new Map();
    this.#mounts = mounts;
    const kept = this.#kept;
    const forms = kept.get(viewer) ?? new Map<string, Document>();
    kept.delete(viewer);
    kept.set(viewer, forms);
    const none = { text: undefined, asked: new Map(), length: 0 };
    const document = forms.getOrInsert(form, none);
    this.#bound(kept, viewer);
    if (document.text) return document.text;
    const make = async (): Promise<Uint8Array> => {
      // As work that is shared: others may wait for it soon.
      const text = await doFor(SHARED_PARTY, drawUp);
      document.length = text.length;
      this.#bound(kept, viewer);
      return text;
    };
    const drop = (): void => {
      if (forms.get(form) === document) forms.delete(form);
    };
    return this.#draw(document, wanted.asker, { make, drop });
  }

  /**
   * Waits for a document. Until it is begun each network waits for it in its own turn: nobody for, nor is refused with,
   * a crowd that asked for it before. Whoever's turn comes first has it made; what that takes is not held with it.
   */
  #draw(
    document: Document,
    { party, site = party }: DocumentRequest['asker'],
    { make, drop }: { make: () => Promise<Uint8Array>; drop: () => void },
  ): Promise<Uint8Array> {
    const { asked } = document;
    const network = networkOfParty(site);
    const known = asked.get(network);
    if (known) return known;
    // Others wait for the same document: that one has gone is no reason not to make it.
    const turn = this.#turns.take({ party, site }, () => (document.text ??= make()));
    const text = turn.catch((refused: unknown) => {
      if (document.text) return document.text;
      throw refused;
    });
    if (!document.text) asked.set(network, text);
    text.then(
      () => asked.delete(network),
      () => {
        asked.delete(network);
        if (asked.size === 0) drop();
      },
    );
    return text;
  }

  /** How many documents are kept. */
  get count(): number {
    return documentsIn(this.#kept).length;
  }

  #viewerOf(acl: object): symbol {
    return this.#viewers.getOrInsertComputed(acl, () => Symbol('viewer'));
  }

  #bound(kept: Map<symbol, Map<string, Document>>, newest: symbol): void {
    for (const viewer of kept.keys()) {
      const all = documentsIn(kept);
      const bytes = all.reduce((sum, { length }) => sum + length, 0);
      if (viewer === newest || (all.length <= MOST_KEPT && bytes <= this.#mostBytes)) return;
      kept.delete(viewer);
    }
  }
}

interface Document {
  /** Once it is begun. */
  text: Promise<Uint8Array> | undefined;
  /** Those who wait for it to begin, by network. */
  asked: Map<string, Promise<Uint8Array>>;
  /** In bytes; 0 until it is drawn up. */
  length: number;
}

const EVERYBODY = {};

const documentsIn = (kept: Map<symbol, Map<string, Document>>): Document[] =>
  [...kept.values()].flatMap((forms) => [...forms.values()]);

function tooMany(): Failure {
  return new Failure('rate_limited', 'too many documents are being drawn up, try again', {
    retry_after: 1,
  });
}
