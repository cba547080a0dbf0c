// How long a server asks its clients to wait.

/**
 * Parses a Retry-After header: seconds, or a date (RFC 9110 section 10.2.3).
 * @param now Unix milliseconds
 * @returns milliseconds to wait; null if the header says none
 */
export function readRetryAfter(text: string | null | undefined, now: number): number | null {
  if (!text) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // Date.parse makes dates of "-1" and "1.5" too.
  const time = /^[a-z]+,? /i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? null : Math.max(0, time - now);
}
