// The request with which the doctor asks whether podkeep answers at an address.

/** Milliseconds. */
const TIMEOUT = 10_000;

/** Asks for a page of subscriptions, with a token or without. @throws if nothing answers over HTTP */
export function ask(url: string, token?: string): Promise<Response> {
  const headers = token === undefined ? undefined : { Authorization: `Bearer ${token}` };
  const init: RequestInit = { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT), ...(headers && { headers }) };
  // Every page but the first has a link to the one before.
  return fetch(`${url}/v1/subscriptions?page=2&per_page=1`, init);
}

export const challengeOf = (response: Response) => response.headers.get("www-authenticate") ?? "";
export const isOurs = (response: Response) =>
  response.status === 401 && challengeOf(response).includes('realm="podkeep"');
