// Deletions of a user that are cut off.

import { DomainError } from "../../src/errors.ts";
import { deleteUser } from "../../src/services/accounts/user-deletion.ts";
import type { Context } from "../../src/services/context.ts";
import { beforeWrites } from "./before-writes.ts";
import { addFeeds } from "./feeds.ts";

/** Gives a user more than one part of a deletion deletes. */
export function addMuch(context: Context, user_id: number) {
  const feed_urls = Array.from({ length: 2500 }, (_, n) => `https://much.example/${n}`);
  return addFeeds(context, user_id, feed_urls);
}

/** Deletes one part of what a user has. @returns whether it was cut off then, because there was more */
export async function deletePart(context: Context, name: string): Promise<"cut off" | "done"> {
  const end = new DomainError("unavailable", "cut off");
  const cutOff = beforeWrites(context, (write) => {
    if (write === 2) throw end;
  });
  try {
    await deleteUser(cutOff, name);
    return "done";
  } catch (error) {
    if (error === end) return "cut off";
    throw error;
  }
}
