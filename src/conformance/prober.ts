// The requests of a check, recorded, at a limited rate, with a report of what can't be understood.
import type { z } from "zod";
import { isTlsError, reasonOf } from "../errors.ts";
import { Failure } from "./expect.ts";

/** The most requests of one run. */
const MOST_REQUESTS = 3000;
/** Milliseconds. */
const TIMEOUT = 30_000;
/** Characters of a body that are kept for the report. */
const KEPT = 4000;

export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}

/** The server under test and the account on it. */
export interface Target {
  /** Base URL without a slash at its end. */
  url: string;
  user: string;
  /** The password, or a token that serves as one. */
  password: string | null;
  /** A bearer token. */
  token: string | null;
  /** A second one of the same account, for a second app. */
  second_token: string | null;
  /** The password that a second app uses, as each app has its own with Nextcloud's login; default: the first one. */
  second_password: string | null;
  /** Requests a second; 0 for no limit. */
  rate: number;
  /** How requests reach the server; tests call it in their own process. */
  send(request: Request): Promise<Response>;
  clock: Clock;
}

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

/** The server does not respond, or a run has sent as much as it may: no further check makes sense. */
export class Unreachable extends Error {}

/** Counts and spaces the requests of one run. */
export class Pace {
  #sent = 0;
  #next = 0;

  constructor(
    private readonly rate: number,
    private readonly clock: Clock,
  ) {}

  async take(): Promise<void> {
    if (++this.#sent > MOST_REQUESTS) throw new Unreachable(`More than ${MOST_REQUESTS} requests: the run ends here`);
    if (this.rate === 0) return;
    const now = this.clock.now();
    const at = Math.max(now, this.#next);
    this.#next = at + 1000 / this.rate;
    if (at > now) await this.clock.sleep(at - now);
  }

  sent = () => this.#sent;
}

/** Sends the requests of one check. */
export class Prober {
  readonly exchanges: Exchange[] = [];
  readonly #feeds: string[] = [];
  readonly #ends: (() => Promise<void>)[] = [];

  constructor(
    readonly target: Target,
    private readonly pace: Pace,
    /** Part of the names that this check uses, unique in all runs. */
    readonly id: string,
  ) {}

  get clock(): Clock {
    return this.target.clock;
  }

  /** A feed URL that no other check and no other run uses. @param variant part of its path */
  feed(variant = ""): string {
    const url = `https://conformance.example/${this.id}/${this.#feeds.length}${variant}.xml`;
    this.#feeds.push(url);
    return url;
  }

  /** Whether a feed URL is one of this check's, in whatever spelling. */
  isOurs = (feed_url: string): boolean => feed_url.toLowerCase().includes(`conformance.example/${this.id}/`);

  /** Keeps what has to be done to leave the account as it was. */
  atEnd(undo: () => Promise<void>): void {
    this.#ends.push(undo);
  }

  async end(): Promise<void> {
    for (const undo of this.#ends.reverse()) await undo().catch(ignore);
  }

  /**
   * Sends one request.
   * @param path below the base URL, or a URL of the same server from a response
   * @throws Unreachable if no response comes
   */
  async request(method: string, path: string, { body, headers = {} }: Sent = {}): Promise<Answer> {
    await this.pace.take();
    const url = /^https?:/.test(path) ? path : this.target.url + path;
    const text = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
    const sent: Record<string, string> = {
      ...(text !== null && { "Content-Type": "application/json" }),
      ...headers,
    };
    const exchange: Exchange = {
      request: { method, url, headers: hideSecrets(sent), body: shorten(text) },
      response: null,
    };
    this.exchanges.push(exchange);
    const request = new Request(url, {
      method,
      headers: sent,
      body: text,
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT),
    });
    const response = await this.target.send(request).catch((error: unknown) => {
      throw new Unreachable(describeSilence(url, error));
    });
    const answered = await response.text().catch((error: unknown) => {
      throw new Unreachable(describeSilence(url, error));
    });
    exchange.response = {
      status: response.status,
      headers: hideSecrets(Object.fromEntries(response.headers)),
      body: shorten(answered) ?? "",
    };
    return {
      status: response.status,
      headers: response.headers,
      text: answered,
      json: (schema) => readJson(answered, response, schema),
    };
  }
}

const ignore = () => undefined;
const shorten = (text: string | null) => (text && text.length > KEPT ? `${text.slice(0, KEPT)}...` : text);

/** Reports are pasted into public issues. */
const hideSecrets = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      /^(authorization|cookie|set-cookie)$/i.test(name) ? value.replace(/(?<=[ =])[^ ;]{8,}/g, "***") : value,
    ]),
  );

function readJson<T>(text: string, response: Response, schema: z.ZodType<T>): T {
  const type = response.headers.get("content-type") ?? "no Content-Type";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const what = /^\s*</.test(text) ? "a page of HTML" : text === "" ? "an empty body" : "a body that is not JSON";
    throw new Failure(`The response is ${what} (${response.status}, ${type})`);
  }
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  throw new Failure(
    `The response's ${["body", ...(issue?.path ?? [])].join(".")}: ${issue?.message} (${response.status})`,
  );
}

function describeSilence(url: string, error: unknown): string {
  const { origin } = new URL(url);
  if (error instanceof DOMException && error.name === "TimeoutError") return `${origin} did not respond within 30 s`;
  const reason = reasonOf(error);
  return isTlsError(error) ? `TLS of ${origin}: ${reason}` : `${origin} does not respond: ${reason}`;
}
