/**
 * A pure function of one object, worked out once for each object and for as long as that is in
 * use. For what does not change while the object is there: configuration that was loaded, a
 * certificate that was read.
 */
export function memoizeWeak<Given extends object, Result>(
  make: (given: Given) => Result,
): (given: Given) => Result {
  const results = new WeakMap<Given, Result>();
  return (given) => results.getOrInsertComputed(given, make);
}
