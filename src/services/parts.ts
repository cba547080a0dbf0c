// Parts of large requests: each is a transaction, so that no other user waits for the whole.
import { inDoubt } from "../errors.ts";
import { mapInTurns } from "../turns.ts";

/** Items of a part; one with a long URL counts for each kilobyte of it. */
const PART = 128;

/** Splits items, in their order. @param groupOf those of one group stay together */
export async function inParts<T>(
  items: readonly T[],
  urlOf: (item: T) => string,
  groupOf: (item: T) => unknown = (item) => item,
): Promise<T[][]> {
  const groups = new Map<unknown, T[]>();
  await mapInTurns(items, (item) => {
    const key = groupOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  });
  const parts: T[][] = [];
  let left = 0;
  await mapInTurns(groups.values(), (group) => {
    const size = group.reduce((sum, item) => sum + Math.ceil(urlOf(item).length / 1024), 0);
    if (size <= left) parts.at(-1)?.push(...group);
    else parts.push(group);
    left = (size <= left ? left : PART) - size;
  });
  return parts;
}

/** Waits for a part. @param isFirst whether nothing was done before @throws as `part` does; the error says if something was */
export const asPart = <T>(part: Promise<T>, isFirst: boolean): Promise<T> =>
  part.catch((error) => {
    throw isFirst ? error : inDoubt(error);
  });
