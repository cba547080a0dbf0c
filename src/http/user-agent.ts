// What an app calls itself.
import { printable } from "../domain/printable.ts";

/** gPodder's own engine names mygpoclient, the library that it uses, before itself; Podcini.X a browser. */
const NAMED_LATER = /^(?:mygpoclient\/.* (?=gPodder\/)|Mozilla\/\S+ \(compatible; )([^/;)]+)/;
/** FocusPodcast writes its version so. */
const VERSION = /[ _]v?\d+(\.\d+)+[\w.-]*$/;

/** Characters. */
const LONGEST = 100;

/** The part of a User-Agent before the version. */
export const productIn = (userAgent: string) =>
  printable(NAMED_LATER.exec(userAgent)?.[1] ?? userAgent.split("/", 1)[0] ?? "")
    .trim()
    .slice(0, LONGEST)
    .replace(VERSION, "");

/** What sends a request; null without a User-Agent. */
export const productOf = ({ headers }: Request) => productIn(headers.get("user-agent") ?? "") || null;
