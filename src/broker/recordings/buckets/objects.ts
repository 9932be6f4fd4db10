/**
 * Where the files of recordings lie, whatever keeps them. A name is made of parts joined by `/`; a file is
 * written piece by piece, and what was written stays as it is until the file is removed.
 */
export interface ObjectStore {
  /** Returns when it would outlive the loss of power. @param at how many pieces there are already */
  append(name: string, at: number, piece: Uint8Array): Promise<void>;
  /** The bytes of all pieces, one after the other. @param pieces how many there should be */
  read(name: string, pieces: number): AsyncIterable<Uint8Array>;
  /** What is not there is removed already. @param pieces how many there may be */
  remove(name: string, pieces: number): Promise<void>;
  /** What held the files of one recording, once they are removed. */
  removeFolder(name: string): Promise<void>;
}

/** A store that does not do what it was asked to; its words are for whoever configured it. */
export class StorageFault extends Error {
  constructor(because: string, options?: { cause?: unknown }) {
    super(because, options);
    this.name = 'StorageFault';
  }
}
