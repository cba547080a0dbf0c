// Following a list from page to page.
import { Failure } from "./expect.ts";
import { LINKS } from "./prober.ts";

/** Pages after which a list counts as endless. */
const MOST_PAGES = 300;

/**
 * The URL of a link, which may be relative.
 * @throws Failure if it is none
 */
export function resolveLink(link: string, base: string): URL {
  const url = URL.parse(link, base);
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new Failure(`A link is no URL that apps can follow: ${link}`, LINKS);
}

/**
 * Reads page after page.
 * @param read gives the address of the page after the one at `path`; undefined after the last one
 * @throws Failure if the list does not end
 */
export async function followLinks(
  first: string,
  read: (path: string, pages: number) => Promise<string | undefined>,
): Promise<void> {
  const seen = new Set<string>();
  for (let path: string | undefined = first; path !== undefined; path = await read(path, seen.size - 1)) {
    if (seen.has(path)) throw new Failure(`The list does not end: its pages lead to ${path} again`);
    if (seen.size > MOST_PAGES) throw new Failure(`The list does not end: more than ${MOST_PAGES} pages`);
    seen.add(path);
  }
}
