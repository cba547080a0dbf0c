// Hashes of the OpenAPI document.
import { z } from "zod";

/** A hash of the document without its version, which changes with each release. */
export function hashDocument(document: unknown): string {
  const { info: _, ...rest } = z.looseObject({ info: z.unknown() }).parse(document);
  return Bun.SHA256.hash(JSON.stringify(rest), "hex").slice(0, 16);
}
