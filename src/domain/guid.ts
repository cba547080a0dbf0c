// Guids of podcasts.
import { z } from "zod";

/** Whether a text is the nil or the max UUID, which identify nothing: two podcasts that have one are not the same. */
export const isNoGuid = (text: string): boolean => /^(0{8}(-0{4}){3}-0{12}|f{8}(-f{4}){3}-f{12})$/i.test(text);

/** A guid, read in any letter case and kept in lower case (P3). */
export const guid = z
  .guid({ error: ({ code }) => (code === "invalid_format" ? "Not a UUID" : undefined) })
  .toLowerCase()
  .refine((text) => !isNoGuid(text), "The nil and the max UUID identify no podcast");

/** Reads the guid that a feed or another server names; null if it is none. */
export const readGuid = (text: unknown): string | null => guid.safeParse(text).data ?? null;
