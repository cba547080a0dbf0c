// Means to change what goes into a server and what comes out.
import type { Send } from "./target.ts";

export interface Broken {
  /** The checks that fail, in their order; the first one names the rule. */
  breaks: string[];
  /** What the server does, in a sentence that begins with it. */
  does: string;
  change(send: Send): Send;
}

export type Json = Record<string, unknown>;
/** The requests of a route. */
export interface Route {
  method?: string;
  path: RegExp;
}

export const matches = ({ method, path }: Route, request: Request) =>
  (method === undefined || request.method === method) && path.test(new URL(request.url).pathname);

/** Changes the JSON of successful responses of a route. */
export const answers =
  (route: Route, alter: (body: Json) => unknown) =>
  (send: Send): Send =>
  async (request) => {
    const response = await send(request);
    if (!matches(route, request) || !response.ok) return response;
    const { status, headers } = response;
    const kept = new Headers(headers);
    kept.delete("content-length");
    return new Response(JSON.stringify(alter((await response.json()) as Json)), { status, headers: kept });
  };
/** Answers another status where this one would come. */
export const status =
  (route: Route, from: number, to: number) =>
  (send: Send): Send =>
  async (request) => {
    const response = await send(request);
    if (!matches(route, request) || response.status !== from) return response;
    return new Response(await response.text(), { status: to, headers: response.headers });
  };
/** Changes requests of a route before they reach the server. */
const receives =
  (route: Route, alter: (request: Request) => Promise<Request> | Request) =>
  (send: Send): Send =>
  async (request) =>
    send(matches(route, request) ? await alter(request) : request);

/** Changes a header of every response of a route. */
export const headers =
  (route: Route, alter: (headers: Headers) => void) =>
  (send: Send): Send =>
  async (request) => {
    const response = await send(request);
    if (!matches(route, request)) return response;
    const { status, headers: given } = response;
    const changed = new Headers(given);
    alter(changed);
    return new Response(response.body, { status, headers: changed });
  };
/** Changes the query of requests of a route. */
export const asks = (route: Route, alter: (query: URLSearchParams) => void) =>
  receives(route, (request) => {
    const url = new URL(request.url);
    alter(url.searchParams);
    return new Request(url.href, request);
  });
/** Answers requests of a route in place of the server; null leaves them to it. */
export const instead =
  (route: Route, answer: (request: Request) => Promise<Response | null> | Response | null) =>
  (send: Send): Send =>
  async (request) =>
    (matches(route, request) ? await answer(request.clone() as Request) : null) ?? send(request);
export const itemsOf = (body: Json, field = "subscriptions") =>
  Array.isArray(body[field]) ? (body[field] as Json[]) : [];
const isItem = (item: unknown) => typeof item === "object" && item !== null && "feed_url" in item;
/** Changes each item of a list in a response. */
export const eachItem =
  (alter: (item: Json) => Json, field = "subscriptions") =>
  (body: Json) =>
    Array.isArray(body[field]) && itemsOf(body, field).every(isItem)
      ? { ...body, [field]: itemsOf(body, field).map(alter) }
      : body;
export const without =
  (...fields: string[]) =>
  (body: Json) =>
    Object.fromEntries(Object.entries(body).filter(([name]) => !fields.includes(name)));
/** Changes the body of requests. */
export const hears = (route: Route, alter: (body: Json) => unknown) =>
  receives(route, async (request) => {
    const text = await request.clone().text();
    try {
      return new Request(request, { body: JSON.stringify(alter(JSON.parse(text))) });
    } catch {
      return request;
    }
  });

/** Changes the second of two POSTs of two apps with no request between them, as if they came at once. */
export const atOnce =
  (met: (first: Request, second: Request) => Promise<Request>) =>
  (send: Send): Send => {
    let last: Request | null = null;
    return async (request) => {
      const first = last;
      last = request.method === "POST" ? (request.clone() as Request) : null;
      const appOf = ({ headers: sent }: Request) => `${sent.get("authorization")} ${sent.get("client-id")}`;
      const isPair = first !== null && last !== null && appOf(first) !== appOf(request);
      return send(isPair ? await met(first.clone() as Request, request) : request);
    };
  };

/** Notes what the first of two such POSTs names. */
export const noteFirst = (namesIn: (request: Request) => Promise<unknown[]>, noted: Set<unknown>) =>
  atOnce(async (first, second) => {
    for (const name of await namesIn(first)) noted.add(name);
    return second;
  });
