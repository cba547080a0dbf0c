// What an app calls itself.
import { printable } from "../domain/printable.ts";

/** The part of the User-Agent before the version, up to 100 characters; null without one. */
export function productOf(request: Request): string | null {
  const [product = ""] = (request.headers.get("user-agent") ?? "").split("/", 1);
  return printable(product).trim().slice(0, 100) || null;
}
