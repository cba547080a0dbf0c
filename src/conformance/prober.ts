// The requests of a check, recorded, at a limited rate, with a report of what can't be understood.
import type { z } from "zod";
import type { Clock } from "../clock.ts";
import { isTlsError, reasonOf } from "../errors.ts";
import { readRetryAfter } from "../retry-after.ts";
import { describeSize } from "../sizes.ts";
import { Failure } from "./expect.ts";
import { Secrets } from "./secrets.ts";
import type { Target } from "./target.ts";

/** The most requests of one run, without those that clean up. */
const MOST_REQUESTS = 3500;
/** Characters of a body that are in the report, and that are kept until its check ends: most checks need no report. */
const [REPORTED, KEPT] = [4000, 64 * 1024];
/** Bytes of a response that are read. */
const MOST_BYTES = 16 * 1024 * 1024;
/** Attempts at a request that is answered 429 or 503, and the most seconds waited before the next one. */
const ATTEMPTS = 3;
const MOST_WAIT = 60;
/** Seconds waited at least, because servers round down. */
const LEAST_WAIT = 1;
/** Seconds waited after a 429 that does not say how long. */
const UNTOLD_WAIT = 5;

/** The defect of links that apps can't follow. */
export const LINKS = "links";

export interface Exchange {
  request: { method: string; url: string; headers: Record<string, string>; body: string | null };
  /** Null if no response came. */
  response: { status: number; headers: Record<string, string>; body: string } | null;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON of a shape. @throws Failure if it is not */
  json<T>(schema: z.ZodType<T>): T;
}

export interface Sent {
  body?: unknown;
  headers?: Record<string, string>;
}

/** The body is JSON of another shape. */
export class WrongShape extends Failure {}

/** No complete response came, or none but that the server is busy. */
export class NoResponse extends Failure {}

/** The run ends here: it was interrupted, or has sent as much as it may. */
export class RunEnd extends Error {}

/** What the checks of one run share: the pace of their requests, and secrets. */
export class Pace {
  #sent = 0;
  #next = 0;
  readonly secrets = new Secrets();

  constructor(private readonly target: Target) {
    const { user, password, token, second_token, second_password, other_user, other_user_token } = target;
    const encode = (one: string | null, name = user) => one && Buffer.from(`${name}:${one}`).toString("base64");
    this.secrets.add(password, token, second_token, second_password, encode(password), encode(second_password));
    this.secrets.add(other_user_token, encode(other_user_token, other_user ?? user));
  }

  /** @param cleans whether the request removes what a check made, which always may be sent */
  async take(cleans: boolean): Promise<void> {
    const { rate, clock, signal } = this.target;
    if (!cleans && signal?.aborted) throw new RunEnd("The run was interrupted");
    if (!cleans && this.#sent >= MOST_REQUESTS)
      throw new RunEnd(`The run ends after ${MOST_REQUESTS} requests: check one part, by --protocol or --check`);
    this.#sent++;
    if (rate === 0) return;
    const now = clock.now();
    // A later time than all waiting requests need is from before the clock went back.
    const at = this.#next - now > MOST_WAIT * 1000 ? now : Math.max(now, this.#next);
    this.#next = at + 1000 / rate;
    if (at > now) await clock.sleep(at - now);
  }

  sent = () => this.#sent;
}

/** Sends the requests of one check. */
export class Prober {
  /** With secrets, which most runs need not hide. */
  readonly #exchanges: Exchange[] = [];
  readonly clock: Clock;
  readonly #feeds: string[] = [];
  readonly #ends = new Map<unknown, () => Promise<unknown>>();
  #cleans = false;

  constructor(
    readonly target: Target,
    private readonly pace: Pace,
    /** Part of the names that this check uses, unique in all runs. */
    readonly id: string,
  ) {
    this.clock = { now: target.clock.now, sleep: (milliseconds) => this.#sleep(milliseconds) };
  }

  /** What was sent and received so far, without secrets, and without the middle of long bodies. */
  exchanges(): Exchange[] {
    const { secrets } = this.pace;
    const hide = <T extends string | null>(headers: Record<string, string>, body: T) => ({
      headers: secrets.hideHeaders(headers),
      body: body && this.#shorten(body),
    });
    return this.#exchanges.map(({ request, response }) => ({
      request: { ...request, url: secrets.hide(request.url), ...hide(request.headers, request.body) },
      response: response && { ...response, ...hide(response.headers, response.body) },
    }));
  }

  /** A feed URL that no other check and no other run uses. @param variant part of its path */
  feed(variant = ""): string {
    const url = `https://conformance.example/${this.id}/${this.#feeds.length}${variant}.xml`;
    this.#feeds.push(url);
    return url;
  }

  /** Whether a feed URL is one of this check's, in any spelling. */
  isOurs = (feed_url: string): boolean => feed_url.toLowerCase().includes(`conformance.example/${this.id}/`);

  /** Keeps what has to be done to leave the account as it was. @param of what is undone, once */
  atEnd(of: unknown, undo: () => Promise<unknown>): void {
    this.#ends.set(of, undo);
  }

  /** Removes what the check made, as far as the server lets it. */
  async end(): Promise<void> {
    this.#cleans = true;
    for (const undo of [...this.#ends.values()].reverse()) {
      try {
        await undo();
      } catch (error) {
        if (error instanceof NoResponse) return;
        if (!(error instanceof Failure)) throw error;
      }
    }
  }

  /**
   * Sends one request; again if the server answers 429, or 503 and says when.
   * @param path below the base URL, or a URL of the same server from a response
   * @throws NoResponse if no response comes, or the server stays busy
   */
  async request(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#attempt(method, path, sent);
      if (answer.status !== 429 && answer.status !== 503) return answer;
      // The server's clock may be another one.
      const present = Date.parse(answer.headers.get("date") ?? "") || this.clock.now();
      const told = readRetryAfter(answer.headers.get("retry-after"), present);
      if (answer.status === 503 && told === null) return answer;
      const wait = Math.max(told ?? UNTOLD_WAIT * 1000, LEAST_WAIT * 1000);
      // It says nothing of what the check is about.
      if (attempt === ATTEMPTS || wait > MOST_WAIT * 1000) throw new NoResponse(describeBusy(method, path, answer));
      await this.clock.sleep(wait);
    }
  }

  async #attempt(method: string, path: string, { body, headers = {} }: Sent): Promise<Answer> {
    const { url: base, timeout, send, signal } = this.target;
    const { secrets } = this.pace;
    const url = /^https?:/.test(path) ? path : base + path;
    if (new URL(url).origin !== new URL(base).origin) {
      const advice = "behind a proxy, make links relative, or of the address that apps use";
      throw new Failure(`The server sends apps elsewhere: ${url} is not at ${new URL(base).origin}; ${advice}`, LINKS);
    }
    await this.pace.take(this.#cleans);
    const text = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
    const all: Record<string, string> = { ...(text !== null && { "Content-Type": "application/json" }), ...headers };
    const exchange: Exchange = {
      request: { method, url, headers: all, body: text && this.#keep(text) },
      response: null,
    };
    this.#exchanges.push(exchange);
    const end = AbortSignal.timeout(timeout * 1000);
    const request = new Request(url, {
      method,
      headers: all,
      body: text,
      redirect: "manual",
      signal: signal && !this.#cleans ? AbortSignal.any([end, signal]) : end,
    });
    const { response, answered } = await receive(send, request).catch((error: unknown) => {
      if (signal?.aborted && !this.#cleans) throw new RunEnd("The run was interrupted");
      throw new NoResponse(secrets.hide(describeSilence(url, timeout, error)));
    });
    secrets.learn(response.headers, answered);
    const { status } = response;
    exchange.response = { status, headers: listHeaders(response.headers), body: this.#keep(answered) };
    return {
      status,
      headers: response.headers,
      text: answered,
      json: (schema) => readJson(answered, response, schema, routeOf(method, url)),
    };
  }

  /** Looking for the secrets of a run in each long body would take longer than all else. */
  #keep = (body: string): string => (body.length <= KEPT ? body : this.#shorten(body));

  /** A body without secrets, and without the middle of a long one, with which secrets could lose their ends. */
  #shorten(body: string): string {
    const hidden = this.pace.secrets.hide(body);
    if (hidden.length <= REPORTED) return hidden;
    // Both ends: what a check has just made is often the last in a list.
    return `${hidden.slice(0, REPORTED / 2)} ... ${hidden.slice(-REPORTED / 2)}`;
  }

  async #sleep(milliseconds: number): Promise<void> {
    const { clock, signal } = this.target;
    if (!signal || this.#cleans) return clock.sleep(milliseconds);
    const ended = Promise.withResolvers<void>();
    const end = () => ended.resolve();
    signal.addEventListener("abort", end);
    await Promise.race([clock.sleep(milliseconds), ended.promise]);
    signal.removeEventListener("abort", end);
  }
}

/** Cookies have a line each: a comma may be part of one. */
const listHeaders = (headers: Headers): Record<string, string> => ({
  ...Object.fromEntries(headers),
  ...(headers.has("set-cookie") && { "set-cookie": headers.getSetCookie().join("\n") }),
});

class TooLong extends Error {}

/** @throws TooLong if the body does not end */
async function receive(send: Target["send"], request: Request): Promise<{ response: Response; answered: string }> {
  const response = await send(request);
  // A byte order mark stops JSON parsers.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let [answered, bytes] = ["", 0];
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > MOST_BYTES) throw new TooLong();
    answered += decoder.decode(part, { stream: true });
  }
  return { response, answered: answered + decoder.decode() };
}

/** What the responses of a route have in common: its path without names of devices and guids. */
const routeOf = (method: string, url: string) => `${method} ${new URL(url).pathname.replace(/[^/]*\d[^/]*/g, "*")}`;

const describeBusy = (method: string, path: string, { status }: Answer) =>
  `${method} ${path} is still answered ${status}: ${status === 429 ? "choose a lower --rate" : "the server is busy"}`;

function readJson<T>(text: string, response: Response, schema: z.ZodType<T>, route: string): T {
  const type = response.headers.get("content-type") ?? "no Content-Type";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const what = /^\s*<(!doctype\s+)?html\b/i.test(text)
      ? "a page of HTML"
      : text === ""
        ? "an empty body"
        : text.startsWith("\uFEFF")
          ? "JSON after a byte order mark, which stops apps"
          : "a body that is not JSON";
    throw new Failure(`The response is ${what} (${response.status}, ${type})`);
  }
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  const place = ["body", ...(issue?.path ?? [])];
  const defect = [route, ...place.filter((part) => typeof part !== "number"), issue?.message].join(" ");
  throw new WrongShape(`The response's ${place.join(".")}: ${issue?.message} (${response.status})`, defect);
}

function describeSilence(url: string, timeout: number, error: unknown): string {
  const { origin } = new URL(url);
  if (error instanceof DOMException && error.name === "TimeoutError")
    return `${url}: no complete response in ${timeout} s`;
  if (error instanceof TooLong) return `${url}: the response is larger than ${describeSize(MOST_BYTES)}`;
  const reason = reasonOf(error);
  if (!isTlsError(error)) return `${origin} does not respond: ${reason}`;
  const advice = /self-signed|\bCA\b/.test(reason) ? "; NODE_EXTRA_CA_CERTS=FILE makes this run trust it" : "";
  return `TLS of ${origin}: ${reason}${advice}`;
}
