// Secrets of a run, kept out of its reports, which are pasted into public issues.

const HIDDEN = "***";
/** Shorter ones would hide parts of words; in headers and fields they are hidden all the same. */
const SHORTEST = 4;
const HEADERS = /^(authorization|proxy-authorization|cookie|set-cookie)$/i;
const FIELD = /("(?:[\w-]*(?:token|password|secret|session)[\w-]*)"\s*:\s*)"((?:[^"\\]|\\.)*)"/gi;
const PARAMETER = /((?:^|[?&])[\w-]*(?:token|password|secret|session)[\w-]*=)([^&\s"'<>]+)/gi;
/** The page of Nextcloud's login flow, where anyone who has its URL can finish the flow. */
const FLOW = /(\/login\/v2\/flow\/)([\w.~%-]+)/g;
/** Values that servers give and that are no secrets: flags, schemes, and what PHP ends a cookie with. */
const WORDS = /^(true|false|null|none|deleted|basic|bearer)$/i;

/** Knows the credentials of a run and those that the server gives. */
export class Secrets {
  readonly #values = new Set<string>();
  /** Because one can be part of another. */
  #longestFirst: string[] = [];

  add(...secrets: (string | null)[]): void {
    for (const secret of secrets) {
      if (secret === null || secret.length < SHORTEST || this.#values.has(secret)) continue;
      for (const form of formsOf(secret)) this.#values.add(form);
    }
  }

  /** Notes the cookies, tokens and passwords of a response. */
  learn(headers: Headers, body: string): void {
    const given = headers.getSetCookie().map((cookie) => /^[^=;]*=([^;]*)/.exec(cookie)?.[1] ?? "");
    for (const pattern of [FIELD, PARAMETER, FLOW]) {
      for (const [, , value = ""] of body.matchAll(pattern)) given.push(value.replace(/\\(.)/g, "$1"));
    }
    this.add(...given.filter((value) => !WORDS.test(value)));
  }

  hide(text: string): string {
    // None is ever removed.
    if (this.#longestFirst.length < this.#values.size) {
      this.#longestFirst = [...this.#values].sort((a, b) => b.length - a.length);
    }
    let hidden = text;
    for (const value of this.#longestFirst) hidden = hidden.replaceAll(value, HIDDEN);
    return hidden
      .replace(FIELD, `$1"${HIDDEN}"`)
      .replace(PARAMETER, `$1${HIDDEN}`)
      .replace(FLOW, `$1${HIDDEN}`)
      .replace(/\b(Basic|Bearer) (?:[\w.~+=-]|\\?\/){8,}/gi, `$1 ${HIDDEN}`);
  }

  /** Keeps the scheme, the names of cookies and their attributes. */
  hideHeaders(headers: Record<string, string>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        HEADERS.test(name) ? value.replace(/.+/g, (line) => hideHeader(name, line)) : this.hide(value),
      ]),
    );
  }
}

/** A secret as responses may have it: in a URL, in JSON of several languages, in a page of HTML. */
function formsOf(secret: string): string[] {
  const url = encodeURIComponent(secret);
  const json = JSON.stringify(secret).slice(1, -1);
  const ascii = json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const lower = url.replace(/%../g, (byte) => byte.toLowerCase());
  const html = Bun.escapeHTML(secret);
  return [secret, url, lower, html, ...[json, ascii].flatMap((text) => [text, text.replaceAll("/", "\\/")])];
}

const hideHeader = (name: string, value: string) =>
  /authorization$/i.test(name)
    ? value.replace(/(?<=^\S+ )[\s\S]*/, HIDDEN)
    : value.replace(/^([^=;]*=)[^;]*|(?<=; )(?!expires|max-age|path|domain|samesite)([\w-]+=)[^;]*/gi, `$1$2${HIDDEN}`);
