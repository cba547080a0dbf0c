// The encoding of an XML file: by its byte order mark or the bytes of its first "<" (XML 1.0, appendix F), else by its XML
// declaration, else by the HTTP header, else UTF-8. Apps read the file alone: servers often send their own encoding with
// every file.

/** Bytes in which the XML declaration is looked for. */
export const DECLARATION = 200;

/** The names of UTF-16 (https://encoding.spec.whatwg.org/#names-and-labels). */
const UTF_16 = /^(utf-?16|(cs)?unicode|(iso-10646-)?ucs-2)/i;

/**
 * @param start the first bytes of the file
 * @param charset the parameter of its Content-Type, if it has one
 */
export function encodingOf(start: Uint8Array, charset?: string): string {
  const [first, second, third] = start;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return "utf-16le";
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return "utf-16be";
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  const text = new TextDecoder("latin1").decode(start.subarray(0, DECLARATION));
  const declared = /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(text)?.[1] ?? charset ?? "utf-8";
  // A UTF-16 that can be read as ASCII is not UTF-16: .NET writes such declarations.
  return UTF_16.test(declared) && text.trimStart().startsWith("<") ? "utf-8" : declared;
}
