// What was typed into a form that was refused: a cookie keeps it until the form is there again.
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { z } from "zod";
import { parseJson } from "../../json.ts";
import { cookieOptions } from "../cookies.ts";
import type { Frame, HttpEnv } from "../env.ts";
import type { Shared } from "../shared.ts";

const NAME = "podkeep_typed";
/** Seconds. */
const MAX_AGE = 600;
/** Bytes of a form; browsers drop cookies of more than 4,096. */
const LONGEST = 2500;

/** The fields that are kept: no password, and nothing that only podkeep writes. */
const Fields = z.object({ feed_url: z.string(), label: z.string(), caption: z.string(), device: z.string() }).partial();
const Kept = z.object({ page: z.string(), users: z.array(z.string()), fields: Fields });

export type TypedField = keyof z.infer<typeof Fields>;

/**
 * Keeps it for whose page it was, and for who is signed in now.
 * @param page the one that has the form, which alone gets it back
 */
export async function keepTyped(c: Context<HttpEnv>, shared: Shared, page: string): Promise<void> {
  // What has no length, no browser sent.
  if (!(Number(c.req.header("Content-Length")) <= LONGEST)) return;
  const form = Object.fromEntries(new URLSearchParams(await c.req.text()));
  const fields = Fields.safeParse(form).data ?? {};
  const users = [...new Set([form["user"], c.get("userName")])].filter((name) => name !== undefined);
  const path = pathOf(c, page);
  if (Object.keys(fields).length === 0 || path === null) return;
  const options = { ...cookieOptions(c, shared), path, maxAge: MAX_AGE };
  setCookie(c, NAME, JSON.stringify({ page, users, fields }), options);
}

/** Gives a user what was typed on a page, once. */
export function takeTyped(c: Context<HttpEnv>, page: string, user: string): Frame["typed"] {
  const kept = Kept.safeParse(parseJson(getCookie(c, NAME) ?? "")).data;
  const path = pathOf(c, page);
  if (c.req.method !== "GET" || kept?.page !== page || !kept.users.includes(user) || path === null) return {};
  deleteCookie(c, NAME, { path });
  return kept.fields;
}

/** The path of a page's cookie; null if no cookie can have it, and so no page of ours does. */
function pathOf(c: Context<HttpEnv>, page: string): string | null {
  const path = c.get("basePath") + page.replace(/\?.*/s, "");
  return /^[!-:<-~]*$/.test(path) ? path : null;
}
