// The path of a request.
import { getPath } from "hono/utils/url";

/** The path without doubled slashes and without one at its end: apps append paths to base URLs that have one. */
export function pathOf(request: Request): string {
  // Without a Host header, which health checks of load balancers may lack, the URL is the target alone.
  const path = request.url.startsWith("/") ? (request.url.split("?", 1)[0] ?? "") : getPath(request);
  if (!path.includes("//") && (path.length === 1 || !path.endsWith("/"))) return path;
  return path.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
}

/**
 * Reads the paths of requests, without the public URL's path if a proxy keeps it.
 * @param base the public URL's path; empty if it has none
 * @param isRoute whether a path has a route as it is: then a proxy has stripped the public URL's
 */
export function createPathReader(base: string, isRoute: (path: string) => boolean): (request: Request) => string {
  if (base === "") return pathOf;
  const kept = pathOf(new Request(`http://localhost${base}`));
  return (request) => {
    const path = pathOf(request);
    if (!`${path}/`.startsWith(`${kept}/`) || isRoute(path)) return path;
    return path.slice(kept.length) || "/";
  };
}
