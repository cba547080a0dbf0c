// JSON that would take far more memory or time than its text.
import { MOST_NAMES, NameCount } from "../domain/name-count.ts";
import { countValues, forEachName } from "../json.ts";

/** Bytes that take little memory in any case. */
const SHORT = 1024 * 1024;
/** Bytes of a value on average, at least: each has a name, or is a URL. Parsed, it takes up to 64. */
const LEAST_OF_VALUE = 6;

/** Whether JSON has more values than any account's of its size, or more different names. */
export const isDense = (json: Uint8Array): boolean =>
  (json.length > SHORT && countValues(json) > json.length / LEAST_OF_VALUE) || hasManyNames(json);

function hasManyNames(json: Uint8Array): boolean {
  const names = new NameCount();
  let count = 0;
  forEachName(json, (start, end) => {
    count = names.addBytes(json, start, end);
  });
  return count > MOST_NAMES;
}
