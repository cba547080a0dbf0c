// How long tests wait at most: generous, so that no test fails because a machine is slow.

/** Milliseconds of a test, or of its set-up; `npm test` sets it. Many times what the longest needs on a quarter of a core. */
export const PATIENCE = 900_000;

/** Milliseconds of one wait within a test, which then fails with what it waited for. */
export const WAIT = PATIENCE / 3;

/** Waits until `look` finds something, and returns that. @param pause in milliseconds @throws Error after WAIT */
export async function until<T>(look: () => T | Promise<T>, pause = 10): Promise<NonNullable<T>> {
  for (const end = Date.now() + WAIT; ; await Bun.sleep(pause)) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`Waited ${WAIT / 1000} s for ${look}`);
  }
}
