/** What work comes to. @throws Error when it takes longer; nobody waits for it then */
export async function within<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('it takes too long')), milliseconds);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether work is done well, in time. */
export const isDoneWithin = (milliseconds: number, work: Promise<unknown>): Promise<boolean> =>
  within(milliseconds, work).then(
    () => true,
    () => false,
  );
