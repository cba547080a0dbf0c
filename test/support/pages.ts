// Reading a list page by page through its links.

/** More pages than any test has. */
export const MOST_PAGES = 2000;

/**
 * Reads the page at `first`, then the page that it links to, and so on to the last.
 * @param linkOf which link of a page to follow; without it, `next`
 * @throws Error after MOST_PAGES pages
 */
export async function* walkPages<Page extends { next?: string | undefined }>(
  first: string,
  read: (link: string) => Promise<Page>,
  linkOf: (page: Page) => string | undefined = ({ next }) => next,
): AsyncGenerator<Page> {
  let link: string | undefined = first;
  for (let count = 0; link; count++) {
    if (count === MOST_PAGES) throw new Error(`There is another page after ${count}: ${link}`);
    const page = await read(link);
    yield page;
    link = linkOf(page);
  }
}
