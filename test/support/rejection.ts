// What a promise rejects with. Bun waits for `expect(promise).rejects` in an event loop inside of the event loop, which sleeps
// until a timer ends while setImmediate has work to do.

/** The error with which it rejects. @throws if it resolves */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  const [result] = await Promise.allSettled([promise]);
  if (result.status === "rejected") return result.reason;
  throw new Error(`It resolved to ${Bun.inspect(result.value)}`);
}

/** A function that throws that error, for toThrow(). */
export async function settle(promise: Promise<unknown>): Promise<() => never> {
  const error = await rejectionOf(promise);
  return () => {
    throw error;
  };
}
