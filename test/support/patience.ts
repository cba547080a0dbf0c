// How long tests wait at most: generous, so that no test fails because a machine is slow.

/** Milliseconds of a test, or of its set-up; `npm test` sets it. Many times what the longest needs on a quarter of a core. */
export const PATIENCE = 900_000;

/** Milliseconds of one wait within a test, which then fails with what it waited for. */
export const WAIT = PATIENCE / 3;

/** Waits until `isSo`. @throws Error after WAIT */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + WAIT; !(await isSo()); await Bun.sleep(10)) {
    if (Date.now() > end) throw new Error(`Waited ${WAIT / 1000} s for ${isSo}`);
  }
}
