// The request that shows whether podkeep responds at a URL.
import { DOCTOR } from "../domain/doctor-headers.ts";

/** Milliseconds. */
export const TIMEOUT = 10_000;

/** Every page but the first has a link to the one before. */
export const ASKED = "/v1/subscriptions?page=2&per_page=1";

/** Requests a page of subscriptions. @throws if nothing responds over HTTP */
export function ask(url: string, token?: string): Promise<Response> {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}`, [DOCTOR]: "1" };
  return get(`${url}${ASKED}`, headers);
}

/** @throws if nothing responds over HTTP */
export function get(url: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT), headers });
}

/** What a 401 asks for; empty without. */
export const challengeOf = (response: Response) => response.headers.get("www-authenticate") ?? "";
/** Whether podkeep refused a request without a token. */
export const isOurs = (response: Response) =>
  response.status === 401 && challengeOf(response).includes('realm="podkeep"');
