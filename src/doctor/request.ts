// The request that shows whether podkeep responds at a URL.

/** Milliseconds. */
export const TIMEOUT = 10_000;

/** Requests a page of subscriptions. @throws if nothing responds over HTTP */
export function ask(url: string, token?: string): Promise<Response> {
  const headers = token === undefined ? undefined : { Authorization: `Bearer ${token}` };
  const init: RequestInit = { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT), ...(headers && { headers }) };
  // Every page but the first has a link to the one before.
  return fetch(`${url}/v1/subscriptions?page=2&per_page=1`, init);
}

export const challengeOf = (response: Response) => response.headers.get("www-authenticate") ?? "";
export const isOurs = (response: Response) =>
  response.status === 401 && challengeOf(response).includes('realm="podkeep"');
