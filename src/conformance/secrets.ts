// Secrets of a run, kept out of its reports, which are pasted into public issues.

const HIDDEN = "***";
/** Shorter ones would hide parts of words; in headers and fields they are hidden all the same. */
const SHORTEST = 4;
const HEADERS = /^(authorization|proxy-authorization|cookie|set-cookie)$/i;
const FIELD = /("(?:[\w-]*(?:token|password|secret|session)[\w-]*)"\s*:\s*)"((?:[^"\\]|\\.)*)"/gi;
const PARAMETER = /((?:^|[?&])[\w-]*(?:token|password|secret|session)[\w-]*=)([^&\s"'<>]+)/gi;
/** The page of Nextcloud's login flow, where anyone who has its URL can finish the flow. */
const FLOW = /(\/login\/v2\/flow\/)([\w.~%-]+)/g;

/** Knows the credentials of a run and those that the server gives. */
export class Secrets {
  readonly #values = new Set<string>();
  /** Because one can be part of another. */
  #longestFirst: string[] = [];

  add(...secrets: (string | null)[]): void {
    for (const secret of secrets) {
      if (secret === null || secret.length < SHORTEST) continue;
      for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) {
        this.#values.add(form);
      }
    }
  }

  /** Notes the cookies, tokens and passwords of a response. */
  learn(headers: Headers, body: string): void {
    for (const cookie of headers.getSetCookie()) this.add(/^[^=;]*=([^;]*)/.exec(cookie)?.[1] ?? null);
    for (const pattern of [FIELD, PARAMETER, FLOW]) {
      for (const [, , value = ""] of body.matchAll(pattern)) this.add(value.replace(/\\(.)/g, "$1"));
    }
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
      .replace(/\b(Basic|Bearer) [\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`);
  }

  /** Keeps the scheme, the names of cookies and their attributes. */
  hideHeaders(headers: Record<string, string>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        HEADERS.test(name) ? hideHeader(name, value) : this.hide(value),
      ]),
    );
  }
}

const hideHeader = (name: string, value: string) =>
  /authorization$/i.test(name)
    ? value.replace(/(?<=^\S+ )[\s\S]*/, HIDDEN)
    : value.replace(/^([^=;]*=)[^;]*|(?<=; )(?!expires|max-age|path|domain|samesite)([\w-]+=)[^;]*/gi, `$1$2${HIDDEN}`);
