// URLs that others wrote.

/** Characters, with a port. */
const LONGEST_HOST = 300;
/** What parsers leave out, wherever it is. */
const LEFT_OUT = /[\t\r\n]/g;
/** Parsers take backslashes for slashes, and any number of them. */
const AUTHORITY = /^[\0- ]*(?:[a-z][a-z\d+.-]*:)?[/\\]*([^/?#\\]*)/i;

/** Whether a URL's host is longer than any in the DNS: some such hosts take URL parsers quadratic time. */
export function hasLongHost(url: string): boolean {
  const authority = AUTHORITY.exec(url.replace(LEFT_OUT, ""))?.[1] ?? "";
  return authority.length - authority.lastIndexOf("@") - 1 > LONGEST_HOST;
}

/** As URL.parse(); null for a host that is too long, too. */
export const parseUrl = (url: string, base?: string): URL | null => (hasLongHost(url) ? null : URL.parse(url, base));

/** The text with percent-encoding decoded, but for what is no UTF-8. */
export const decodePercent = (text: string): string =>
  text.replace(/(%[0-9a-f]{2})+/gi, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes;
    }
  });
