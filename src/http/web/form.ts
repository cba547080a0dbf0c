// Forms of the web page: their fields, checked.
import type { Context } from "hono";
import { z } from "zod";
import { DomainError } from "../../errors.ts";
import type { HttpEnv } from "../env.ts";

/** Reads the fields of a form; a missing one is refused. @throws DomainError "invalid" */
export async function readForm<Shape extends z.ZodRawShape>(c: Context<HttpEnv>, shape: Shape) {
  const body = await c.req.parseBody().catch(() => ({}));
  const fields = z.object(shape).safeParse(body);
  if (fields.success) return fields.data;
  throw new DomainError("invalid", "The form is incomplete", {
    details: fields.error.issues.map((one) => one.message),
  });
}
