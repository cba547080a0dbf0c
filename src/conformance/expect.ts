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

/** @throws Failure if they differ, with both values; of long lists, with what one of them has and the other has not */
export function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (Bun.deepEquals(actual, expected, true)) return;
  throw new Failure(`${what}: ${differenceOf(actual, expected)}`);
}

/** Items up to which a list is shown as it is. */
const SHORT = 3;

function differenceOf(actual: unknown, expected: unknown): string {
  if (Array.isArray(actual) && Array.isArray(expected) && Math.max(actual.length, expected.length) > SHORT) {
    const missing = itemsBeyond(expected, actual);
    const unexpected = itemsBeyond(actual, expected);
    const parts = [];
    if (missing.length > 0) parts.push(`${missing.length} of ${expected.length} missing: ${JSON.stringify(missing)}`);
    if (unexpected.length > 0) parts.push(`${unexpected.length} not expected: ${JSON.stringify(unexpected)}`);
    if (parts.length > 0) return parts.join("; ");
  }
  return `expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
}

/** The items that a list has more often than another one. */
function itemsBeyond(list: unknown[], other: unknown[]): unknown[] {
  const left = [...other];
  return list.filter((item) => {
    const at = left.findIndex((one) => Bun.deepEquals(one, item, true));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
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
