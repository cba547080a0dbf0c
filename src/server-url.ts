// URLs of servers as people type them.

/**
 * Parses an http or https URL; null for any other text. Also for a protocol in place of the host, as in
 * https://https://a.example: in many networks that leads somewhere, because the DNS server adds a domain to it.
 */
export function parseServerUrl(text: string): URL | null {
  const url = URL.parse(text);
  return url && /^https?:$/.test(url.protocol) && !/^https?$/.test(url.hostname) ? url : null;
}
