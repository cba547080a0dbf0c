// The public URL: what a client finds there.
import { z } from "zod";
import { messageOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";
import { ask, challengeOf, isOurs } from "./request.ts";

const Page = z.looseObject({ previous: z.string() });

const isThrottled = (answer: Response) => answer.status === 429;
const describeThrottle = (address: string) =>
  warning("address", `${address} refuses this machine for now: too many failed logins`, "Ask again in a minute");

/**
 * Looks at the server from outside, as a client does.
 * @param token a token of the server there; null leaves out the check that needs one
 */
export async function checkPublicUrl(address: string, token: string | null): Promise<Finding[]> {
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
