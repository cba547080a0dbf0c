// The path of a request.
import { getPath } from "hono/utils/url";

/** The path without doubled slashes and without one at its end: apps append paths to base URLs that have one. */
export function pathOf(request: Request): string {
  const path = getPath(request);
  if (!path.includes("//") && (path.length === 1 || !path.endsWith("/"))) return path;
  return path.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
}
