// Limits of one request; those of counts are in proportion to PODKEEP_MAX_ITEMS.
import { z } from "zod";
import type { Config } from "../config/settings.ts";
import { MOST_NAMES, NameCount } from "../domain/name-count.ts";
import { DomainError } from "../errors.ts";
import { countValues, forEachName } from "../json.ts";

type Limits = Pick<Config, "max_items">;

/** Episode actions in one upload: some apps send all their plays at every sync. */
export const mostActions = ({ max_items }: Limits) => 10 * max_items;

/** Bytes of an upload of episode actions, which is read as a stream: apps send years of plays at their first sync. */
export const mostActionBytes = ({ max_body }: Pick<Config, "max_body">) => Math.max(max_body, 32 * 1024 * 1024);

/** Values in one JSON body: an episode action is ten. Parsed, each takes up to 64 bytes of memory. */
export const mostValues = (limits: Limits) => 10 * mostActions(limits);

/** @throws DomainError "too_large" */
export function requireFew(count: number, most: number, what: string): void {
  if (count > most) throw new DomainError("too_large", `More than ${most} ${what} in one request`);
}

/** Bytes of JSON that take a millisecond or two to parse, also if somebody has made them to take long. */
export const SHORT_BODY = 128 * 1024;

/** Refuses JSON of many different names, counted with those before. @throws DomainError "too_large" */
export const requireFewNames = (json: Uint8Array, names = new NameCount()): void =>
  forEachName(json, (start, end) => requireFew(names.addBytes(json, start, end), MOST_NAMES, "names of JSON values"));

/** Refuses JSON that takes much more memory or time parsed than as text. @throws DomainError "too_large" */
export function requireFewValues(json: Uint8Array, most: number): void {
  if (json.length > SHORT_BODY) requireFewNames(json);
  if (json.length > most) requireFew(countValues(json), most, "JSON values");
}

/** Reasons that a refused request gets; more would not help, and a body can be wrong in a million places. */
export const MOST_DETAILS = 20;

/** An array that is refused by its length before its elements are read. */
export const listOf = <Element extends z.ZodType>(element: Element, { max_items }: Limits) =>
  z.preprocess((list) => {
    if (Array.isArray(list)) requireFew(list.length, max_items, "podcasts");
    return list;
  }, z.array(element));
