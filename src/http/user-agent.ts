// What an app calls itself.
import { printable } from "../domain/printable.ts";

/** The part of a User-Agent before the version. */
export const productIn = (userAgent: string) => printable(userAgent.split("/", 1)[0] ?? "").trim();

/** What sends a request, up to 100 characters; null without a User-Agent. */
export const productOf = ({ headers }: Request) => productIn(headers.get("user-agent") ?? "").slice(0, 100) || null;
