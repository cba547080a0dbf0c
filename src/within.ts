// Waiting for a limited time.

/** What a promise resolves to; null after so many milliseconds. A timer left behind would keep both in memory. */
export async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T | null> {
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), milliseconds);
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
