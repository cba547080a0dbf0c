// Requests to another server, as one of its apps: they only read.
import type { z } from "zod";
import { readUpTo, sizeText } from "../bounded.ts";
import { decodeOpml, OpmlError, type OpmlFeed, readOpml } from "../domain/opml.ts";
import { DomainError, reasonOf } from "../errors.ts";
import { parseJson } from "../json.ts";
import { VERSION } from "../version.ts";
import { isDense } from "./dense.ts";

/** Milliseconds for one response: some servers put years of episodes into one. */
const PATIENCE = 5 * 60_000;
/** Bytes of one response. */
const MOST_BYTES = 64 * 1024 * 1024;

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
}

/** Another server, with what signs in to it. */
export interface Remote extends Account {
  /** Host and port, to name it. */
  host: string;
  /** Sends a request. @throws DomainError "unavailable" if there is no response, "invalid" for a redirect elsewhere */
  send(path: string, method?: "GET" | "POST"): Promise<Answer>;
}

/**
 * Reads the URL of a server as people type it.
 * @throws DomainError "invalid" if it is none, or has a user or password
 */
export function readServer(text: string): URL {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new DomainError("invalid", `--from needs the URL of a server, such as https://gpodder.net`);
  }
  if (url.username || url.password) {
    throw new DomainError("invalid", "Leave user and password out of the URL: give --user, and type the password");
  }
  return new URL(url.pathname.replace(/\/*$/, "/"), url.origin);
}

/** @param bearer whether the password is a token */
export function openRemote(account: Account, bearer = false): Remote {
  const { server, user, password } = account;
  const basic = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  const cookies = new Map<string, string>();
  const { host } = server;
  async function send(path: string, method: "GET" | "POST" = "GET"): Promise<Answer> {
    const url = new URL(path.replace(/^\//, ""), server);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    try {
      const response = await fetch(url, {
        method,
        redirect: "manual",
        signal: AbortSignal.timeout(PATIENCE),
        headers: {
          Authorization: bearer ? `Bearer ${password}` : basic,
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
      if (target) throw redirected(host, URL.parse(target, url.href));
      const body = await readUpTo(response.body ?? new Blob().stream(), MOST_BYTES);
      if (body === null)
        throw new DomainError("too_large", `A response of ${host} is larger than ${sizeText(MOST_BYTES)}`);
      return { status: response.status, body };
    } catch (error) {
      if (error instanceof DomainError) throw error;
      throw new DomainError("unavailable", `${host} can't be reached: ${reasonOf(error)}`, { cause: error });
    }
  }
  return { ...account, host, send };
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
export function requireOk({ host, user }: Remote, { status }: Answer, what: string): void {
  if (status === 200) return;
  if (status === 401 || status === 403) {
    throw new DomainError("unauthorized", `${host} refused the user ${user} or the password (HTTP status ${status})`);
  }
  throw unexpected(host, what, `HTTP status ${status}`);
}

/** Reads a response as what an API has. @param what was asked for @throws DomainError as requireOk() does */
export function readAnswer<T>(remote: Remote, answer: Answer, shape: z.ZodType<T>, what: string, api: string): T {
  requireOk(remote, answer, what);
  const { success, data } = shape.safeParse(readJson(answer));
  if (!success) throw unexpected(remote.host, what, `the response is not what ${api} has`);
  return data;
}

const unexpected = (host: string, what: string, reason: string) =>
  new DomainError("unavailable", `${host} did not give ${what}: ${reason}. Nothing is lost: try again later`);
