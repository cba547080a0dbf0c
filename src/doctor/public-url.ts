// What answers at an address: on this machine's port, and where clients reach the server from outside.
import { createServer } from "node:net";
import { z } from "zod";
import type { Config } from "../config/settings.ts";
import { messageOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";

/** Milliseconds. */
const PATIENCE = 10_000;

const Page = z.looseObject({ previous: z.string() });

/** Asks for a list, with a token or without. @throws where nothing answers over HTTP */
function ask(address: string, token?: string): Promise<Response> {
  const headers = token === undefined ? undefined : { Authorization: `Bearer ${token}` };
  const init: RequestInit = { redirect: "manual", signal: AbortSignal.timeout(PATIENCE), ...(headers && { headers }) };
  // Of a page that is not the first, the answer bears a link to the one before, whatever there is.
  return fetch(`${address}/v1/subscriptions?page=2&per_page=1`, init);
}

const challengeOf = (answer: Response) => answer.headers.get("www-authenticate") ?? "";
const isOurs = (answer: Response) => answer.status === 401 && challengeOf(answer).includes('realm="podkeep"');

const isThrottled = (answer: Response) => answer.status === 429;
const describeThrottle = (address: string) =>
  warning("address", `${address} refuses this machine for now: too many failed logins`, "Ask again in a minute");

/** @param local the server's address on this machine */
export async function checkPort({ host, port }: Config, local: string): Promise<Finding> {
  if (port === 0) return ok("port", "A free one is taken at each start");
  const other = `Stop what uses it, or choose another one with PODKEEP_PORT`;
  try {
    const answer = await ask(local);
    if (isOurs(answer)) return ok("port", `podkeep answers at ${local}`);
    return problem("port", `Something else answers at ${local}, with ${answer.status}`, other);
  } catch {
    const reason = await whyNotListen(host, port);
    if (reason) return problem("port", `Nothing answers at ${local}, and it can't be listened on: ${reason}`, other);
    return warning("port", `Nothing answers at ${local}`, "Start the server");
  }
}

function whyNotListen(host: string, port: number): Promise<string | null> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once("error", (error) => resolve(messageOf(error)));
    probe.listen(port, host, () => probe.close(() => resolve(null)));
  });
}

/**
 * Looks at the address from outside, as a client does.
 * @param token one that the server there should know; null to leave out what needs one
 */
export async function checkAddress(address: string, token: string | null): Promise<Finding[]> {
  const findings = [checkScheme(address)];
  try {
    const answer = await ask(address);
    if (isThrottled(answer)) return [...findings, describeThrottle(address)];
    if (!isOurs(answer)) return [...findings, describeStranger(address, answer)];
    findings.push(ok("address", `podkeep answers at ${address}/v1`));
    const authorization = await checkAuthorization(address);
    findings.push(authorization);
    if (authorization.state === "ok") findings.push(await checkLinks(address, token));
  } catch (error) {
    findings.push(describeSilence(address, error));
  }
  return findings;
}

async function checkAuthorization(address: string): Promise<Finding> {
  // A token that is none is refused with another challenge than none at all.
  const answer = await ask(address, "podkeep_doctor");
  if (isThrottled(answer)) return describeThrottle(address);
  if (challengeOf(answer).includes("error=")) return ok("authorization", "The Authorization header reaches podkeep");
  const advice = "Have the proxy pass the Authorization header on, and do no authentication of its own";
  return problem("authorization", "The Authorization header does not reach podkeep", advice);
}

function checkScheme(address: string): Finding {
  const { protocol, hostname } = new URL(address);
  if (protocol === "https:") return ok("TLS", "is used");
  if (/^(localhost|127\..*|\[::1\])$/.test(hostname)) return ok("TLS", "is not needed on this machine");
  return problem("TLS", "Tokens travel in the clear", "Put Caddy, nginx or Tailscale in front, and use https");
}

function describeSilence(address: string, error: unknown): Finding {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = `${address}: ${messageOf(error)}`;
  if (/CERT|TLS|SSL|SIGNATURE|ISSUER/i.test(`${code} ${reason}`)) {
    return problem("TLS", reason, "Have the proxy renew its certificate for this name; apps refuse this one too");
  }
  return problem("address", reason, "Check the name in the DNS, the router's port forwarding and the proxy");
}

function describeStranger(address: string, answer: Response): Finding {
  const to = answer.headers.get("location");
  if (to) return problem("address", `${address} redirects to ${to}`, "Give apps the address that it leads to");
  const advice =
    answer.status >= 500
      ? "The proxy doesn't reach podkeep: check the address it forwards to"
      : "Have the proxy forward the whole path, /v1 included, to podkeep";
  return problem("address", `${address}/v1 is answered with ${answer.status}, and not by podkeep`, advice);
}

async function checkLinks(address: string, token: string | null): Promise<Finding> {
  const about = "links";
  if (token === null) return warning(about, "not checked", "Give a token of the server there with --token");
  const answer = await ask(address, token);
  if (answer.status === 401) {
    return warning(about, "The server there does not know this data's tokens", "Give one of its own with --token");
  }
  const page = Page.safeParse(await answer.json().catch(() => null));
  if (!page.success) return problem(about, `The list is answered with ${answer.status}`, "Look into the server's log");
  if (page.data.previous.startsWith(`${address}/v1/`)) return ok(about, `bear ${address}`);
  const { origin } = new URL(page.data.previous);
  return problem(about, `bear ${origin}`, `Set PODKEEP_PUBLIC_URL=${address}, or the proxy in PODKEEP_TRUSTED_PROXIES`);
}
