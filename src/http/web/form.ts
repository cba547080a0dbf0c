// Forms of the web page: their fields, checked.
import type { Context } from "hono";
import { z } from "zod";
import { DomainError } from "../../errors.ts";
import type { HttpEnv } from "../env.ts";
import { requireFew } from "../limits.ts";

/** Fields of a form with a file; pages have one. */
const MOST_FIELDS = 20;
/** In characters. */
const LONGEST_SEARCH = 200;

/** What divides a form's fields, if browsers write it so: what others write, parsers read in several ways. */
const MULTIPART = /^multipart\/form-data; *boundary=("?)([^\s;"]+)\1$/i;
const URLENCODED = /^application\/x-www-form-urlencoded *(;|$)/i;

/**
 * Refuses a form with a file and many fields: a million, which fit into the size of a file, take gigabytes. In one that no
 * browser wrote, or that can have no file, no field is read.
 * @throws DomainError "too_large"
 */
export function requireFewFields(c: Context<HttpEnv>, form: Uint8Array): void {
  const type = c.req.header("Content-Type") ?? "";
  const boundary = MULTIPART.exec(type)?.[2];
  if (boundary === undefined) c.req.raw.headers.delete("Content-Type");
  const divider = boundary ?? (URLENCODED.test(type) ? "&" : undefined);
  if (divider === undefined) return;
  const bytes = Buffer.from(form.buffer, form.byteOffset, form.length);
  let count = 0;
  for (let at = bytes.indexOf(divider); at >= 0; at = bytes.indexOf(divider, at + divider.length)) {
    requireFew(++count, MOST_FIELDS, "fields");
  }
}

/** Reads a form's fields and files; none if its encoding is broken. */
export async function readFields(c: Context<HttpEnv>) {
  try {
    return await c.req.parseBody();
  } catch (error) {
    if (error instanceof TypeError) return {};
    throw error;
  }
}

/** Reads the fields of a form; a missing one is refused. @throws DomainError "invalid" */
export async function readForm<Shape extends z.ZodRawShape>(c: Context<HttpEnv>, shape: Shape) {
  const sent = await readFields(c);
  const fields = z.object(shape).safeParse(sent);
  if (fields.success) return fields.data;
  const faults = fields.error.issues.map(({ path: [name = ""] }) =>
    String(name) in sent ? `${String(name)} is not valid` : `${String(name)} is missing`,
  );
  throw new DomainError("invalid", `The form is incomplete: ${faults.join(", ")}`);
}

/** The words of a search, which are in the query; empty without one. */
export const readSearch = (c: Context<HttpEnv>): string =>
  (c.req.query("search") ?? "").trim().slice(0, LONGEST_SEARCH);
