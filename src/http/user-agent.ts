// What an app calls itself.
import { printable } from "../domain/printable.ts";

/** gPodder's own engine names mygpoclient, the library that it uses, before itself. */
const GPODDER = /^mygpoclient\/.* (gPodder)\//;

/** The part of a User-Agent before the version. */
export const productIn = (userAgent: string) =>
  printable(GPODDER.exec(userAgent)?.[1] ?? userAgent.split("/", 1)[0] ?? "").trim();

/** What sends a request, up to 100 characters; null without a User-Agent. */
export const productOf = ({ headers }: Request) => productIn(headers.get("user-agent") ?? "").slice(0, 100) || null;
