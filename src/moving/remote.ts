// Requests to another server, as one of its apps: they only read.
import type { z } from "zod";
import { decodeOpml, OpmlError, type OpmlFeed, readOpml } from "../domain/opml.ts";
import { parseUrl } from "../domain/url.ts";
import { DomainError, reasonOf } from "../errors.ts";
import { parseJson } from "../json.ts";
import { readUpTo } from "../read-up-to.ts";
import { readRetryAfter } from "../retry-after.ts";
import { parseServerUrl } from "../server-url.ts";
import { describeSize } from "../sizes.ts";
import { VERSION } from "../version.ts";
import { isDense } from "./dense.ts";

/** Milliseconds for one response: some servers put years of episodes into one. */
const PATIENCE = 5 * 60_000;
/** Statuses with which a server may say when it can be asked again. */
const BUSY = [429, 503];
/** Milliseconds that a server may ask to wait for. */
const LONGEST_WAIT = 60_000;
/** Maximum attempts of one request. */
const ATTEMPTS = 5;
/** Bytes of one response. */
const MOST_BYTES = 64 * 1024 * 1024;
/** Bytes of all responses: an account with ten years of listening has a tenth of it. */
const MOST_IN_ALL = 4 * MOST_BYTES;

/** Where somebody has an account. */
export interface Account {
  /** Base URL, without user and password. */
  server: URL;
  user: string;
  password: string;
}

export interface Answer {
  status: number;
  body: Uint8Array;
  /** Milliseconds after which a busy server can be asked again; null if it doesn't say. */
  wait: number | null;
}

/** Another server, with what signs in to it. */
export interface Remote extends Account {
  /** Host and port, to name it. */
  host: string;
  /** Sends a request, again if the server asks to wait a while. @throws DomainError "unavailable" if there is no response, "invalid" for a redirect elsewhere */
  send(path: string, method?: "GET" | "POST"): Promise<Answer>;
  /** Whether it is podkeep, as it says where it refuses who has no password. */
  isPodkeep(): Promise<boolean>;
}

/**
 * Reads the URL of a server as people type it.
 * @throws DomainError "invalid" if it is none, or has a user or password
 */
export function readServer(text: string): URL {
  const url = parseServerUrl(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  if (!url) {
    throw new DomainError("invalid", `--from needs the URL of a server, such as https://gpodder.net`);
  }
  if (url.username || url.password) {
    throw new DomainError("invalid", "Leave user and password out of the URL: give --user, and type the password");
  }
  // Not resolved, which takes a path that begins with two slashes for a host.
  return new URL(url.origin + url.pathname.replace(/\/*$/, "/"));
}

/** @param bearer whether the password is a token */
export function openRemote(account: Account, bearer = false): Remote {
  const { server, user, password } = account;
  // A header has bytes: a password that is no token is sent all the same, and refused.
  const authorization = bearer
    ? `Bearer ${Buffer.from(password).toString("latin1")}`
    : `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  const cookies = new Map<string, string>();
  const { host } = server;
  let received = 0;
  async function send(path: string, method: "GET" | "POST" = "GET"): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await sendOnce(path, method);
      if (answer.wait === null || answer.wait > LONGEST_WAIT || attempt === ATTEMPTS) return answer;
      await Bun.sleep(answer.wait);
    }
  }
  async function sendOnce(path: string, method: "GET" | "POST"): Promise<Answer> {
    const url = new URL(path.replace(/^\//, ""), server);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    try {
      const response = await fetch(url, {
        method,
        redirect: "manual",
        signal: AbortSignal.timeout(PATIENCE),
        headers: {
          Authorization: authorization,
          Accept: "application/json, */*;q=0.1",
          "User-Agent": `podkeep/${VERSION}`,
          ...(cookie && { Cookie: cookie }),
        },
      });
      for (const line of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=;\s]+)=([^;]*)/.exec(line) ?? [];
        if (name && value !== undefined) cookies.set(name, value);
      }
      const target = response.status >= 300 && response.status < 400 && response.headers.get("location");
      // The password goes to the server that was named, and nowhere else.
      if (target) throw redirected(host, parseUrl(target, url.href));
      const body = await readUpTo(response.body ?? new Blob().stream(), MOST_BYTES);
      if (body === null)
        throw new DomainError("too_large", `A response of ${host} is larger than ${describeSize(MOST_BYTES)}`);
      received += body.length;
      if (received > MOST_IN_ALL)
        throw new DomainError("too_large", `${host} sends more than ${describeSize(MOST_IN_ALL)}`);
      const { status, headers } = response;
      const wait = BUSY.includes(status) ? readRetryAfter(headers.get("retry-after"), Date.now()) : null;
      return { status, body, wait };
    } catch (error) {
      if (error instanceof DomainError) throw error;
      throw new DomainError("unavailable", `${host} can't be reached: ${reasonOf(error)}`, { cause: error });
    }
  }
  async function isPodkeep(): Promise<boolean> {
    const url = new URL("api/2/devices/podkeep.json", server);
    const asked = fetch(url, { redirect: "manual", signal: AbortSignal.timeout(PATIENCE) });
    const { status, headers } = await asked.catch(() => Response.error());
    return status === 401 && (headers.get("www-authenticate") ?? "").includes('realm="podkeep"');
  }
  return { ...account, host, send, isPodkeep };
}

function redirected(host: string, target: URL | null): DomainError {
  const place = target ? ` to ${target.origin}${target.pathname}` : "";
  return new DomainError("invalid", `${host} redirects${place}: give the URL of the server itself with --from`);
}

/** Reads JSON; null if it is none, or has more values than an account. */
export const readJson = ({ body }: Answer): unknown =>
  isDense(body) ? null : parseJson(new TextDecoder().decode(body));

/** Reads OPML; none if it is none. */
export function readList({ status, body }: Answer): OpmlFeed[] {
  try {
    return status === 200 ? readOpml(decodeOpml(body)) : [];
  } catch (error) {
    if (error instanceof OpmlError) return [];
    throw error;
  }
}

/** @throws DomainError "unauthorized" if user or password are wrong, "unavailable" for another failure */
export function requireOk({ host, user }: Remote, { status, wait }: Answer, what: string): void {
  if (status === 200) return;
  if (status === 401 || status === 403) {
    throw new DomainError("unauthorized", `${host} refused the user ${user} or the password (HTTP status ${status})`);
  }
  const later = wait !== null && wait > LONGEST_WAIT ? `in ${Math.ceil(wait / 60_000)} minutes` : "later";
  throw unexpected(host, what, `HTTP status ${status}`, later);
}

/** Reads a response as what an API has. @param what was asked for @throws DomainError as requireOk() does */
export function readAnswer<T>(remote: Remote, answer: Answer, shape: z.ZodType<T>, what: string, api: string): T {
  requireOk(remote, answer, what);
  const { success, data } = shape.safeParse(readJson(answer));
  if (!success) throw unexpected(remote.host, what, `the response is not what ${api} has`);
  return data;
}

const unexpected = (host: string, what: string, reason: string, later = "later") =>
  new DomainError("unavailable", `${host} did not give ${what}: ${reason}. Nothing is lost: try again ${later}`);
