// Forms of the web page: their fields, checked.
import type { Context } from "hono";
import { z } from "zod";
import { DomainError } from "../../errors.ts";
import type { HttpEnv } from "../env.ts";

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
  const fields = z.object(shape).safeParse(await readFields(c));
  if (fields.success) return fields.data;
  throw new DomainError("invalid", "The form is incomplete", {
    details: fields.error.issues.map((one) => one.message),
  });
}
