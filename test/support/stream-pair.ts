/** Two ends of one pipe in this process. */

import { Duplex } from 'node:stream';

/** @param through sees, and may change, what goes from the first to the second */
export function streamPair(through = (bytes: Buffer): Buffer => bytes): [Duplex, Duplex] {
  const end = (other: () => Duplex, change: (bytes: Buffer) => Buffer): Duplex =>
    new Duplex({
      read() {},
      write(bytes: Buffer, _encoding, done) {
        setImmediate(() => {
          other().push(change(bytes));
          done();
        });
      },
      final(done) {
        other().push(null);
        done();
      },
    });
  const one: Duplex = end(() => two, through);
  const two: Duplex = end(
    () => one,
    (bytes) => bytes,
  );
  return [one, two];
}
