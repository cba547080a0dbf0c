// What a check demands, and how it fails.

/** The server does something else than the check demands. */
export class Failure extends Error {
  /** @param defect what several checks would find, of which only the first one fails for it; default: this one's own */
  constructor(
    message: string,
    readonly defect?: string,
  ) {
    super(message);
  }
}

/** The server has not what the check is about, such as a second page: the report counts it as skipped. */
export class NotApplicable extends Error {}

/** @throws Failure with both values if they differ */
export function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (Bun.deepEquals(actual, expected, true)) return;
  throw new Failure(`${what}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
}

/** @throws Failure if it is false */
export function expect(what: string, holds: boolean): asserts holds {
  if (!holds) throw new Failure(what);
}

/** @returns the answer @throws Failure if its status is not 2xx */
export function requireSuccess<Answer extends { status: number }>(answer: Answer): Answer {
  if (answer.status < 200 || answer.status > 299) throw new Failure(`Expected success, got status ${answer.status}`);
  return answer;
}
