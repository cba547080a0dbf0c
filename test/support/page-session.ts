// The page's session of a user, for requests that a browser would send.

/** Signs in on the page of a running server. @returns the Cookie header of further requests */
export async function signInAt(address: string, name: string, password: string): Promise<string> {
  const body = new URLSearchParams({ name, password });
  const headers = { Origin: address };
  const response = await fetch(`${address}/sign-in`, { method: "POST", body, redirect: "manual", headers });
  return response.headers
    .getSetCookie()
    .map((one) => one.split(";")[0])
    .join("; ");
}
