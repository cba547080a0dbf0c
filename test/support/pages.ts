// Walking a list by its links, as clients do.

/** More pages than any list of a test has. */
export const MOST_PAGES = 2000;

/**
 * Reads the page that a link leads to, then the page that it leads to itself, and so on to the last.
 * @param linkOf which link of a page to follow; without it, `next`
 * @throws Error where there is no end of pages
 */
export async function* walkPages<Page extends { next?: string | undefined }>(
  first: string,
  read: (link: string) => Promise<Page>,
  linkOf: (page: Page) => string | undefined = ({ next }) => next,
): AsyncGenerator<Page> {
  let link: string | undefined = first;
  for (let count = 0; link; count++) {
    if (count === MOST_PAGES) throw new Error(`After ${count} pages there is still another one: ${link}`);
    const page = await read(link);
    yield page;
    link = linkOf(page);
  }
}
