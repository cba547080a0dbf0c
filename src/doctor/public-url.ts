// The public URL: what a client finds there.
import { z } from "zod";
import { isLocal } from "../config/app-url.ts";
import { codeOf, isTlsError, reasonOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";
import { ask, challengeOf, isOurs } from "./request.ts";

const Page = z.looseObject({ previous: z.string() });

const isThrottled = (response: Response) => response.status === 429;
const describeThrottle = (address: string) =>
  warning("public URL", `${address} refuses this machine: too many failed logins`, "Try again in a minute");

/**
 * Looks at the server from outside, as a client does.
 * @param token a token of the server there; null leaves out the check that needs one
 */
export async function checkPublicUrl(address: string, token: string | null): Promise<Finding[]> {
  const isPlain = new URL(address).protocol === "http:";
  const findings = isPlain ? [checkPlain(address)] : [];
  try {
    const response = await ask(address);
    if (!isPlain) findings.push(ok("TLS", "in use"));
    if (isThrottled(response)) return [...findings, describeThrottle(address)];
    if (!isOurs(response)) return [...findings, describeStranger(address, response)];
    findings.push(ok("public URL", `podkeep responds at ${address}/v1`));
    const authorization = await checkAuthorization(address);
    findings.push(authorization);
    if (authorization.state === "ok") findings.push(await checkLinks(address, token));
  } catch (error) {
    findings.push(describeSilence(address, error));
  }
  return findings;
}

async function checkAuthorization(address: string): Promise<Finding> {
  // An invalid token gets another challenge than no token.
  const response = await ask(address, "podkeep_doctor");
  if (isThrottled(response)) return describeThrottle(address);
  if (challengeOf(response).includes("error=")) return ok("authorization", "the header reaches podkeep");
  const advice = "Configure the proxy to pass the Authorization header, and not to authenticate itself";
  return problem("authorization", "the header does not reach podkeep", advice);
}

function checkPlain(address: string): Finding {
  if (isLocal(address)) return ok("TLS", "not needed on this machine");
  return problem("TLS", "tokens are sent unencrypted", "Use https: put Caddy, nginx or Tailscale in front");
}

function describeSilence(address: string, error: unknown): Finding {
  const reason = `${address}: ${reasonOf(error)}`;
  if (isTlsError(error)) return problem("TLS", reason, adviceOnTls(codeOf(error), new URL(address).hostname));
  return problem("public URL", reason, "Check the DNS name, the router's port forwarding and the proxy");
}

function adviceOnTls(code: string, host: string): string {
  switch (code) {
    case "CERT_HAS_EXPIRED":
      return "Renew the proxy's certificate; apps refuse it too";
    case "CERT_NOT_YET_VALID":
      return "Set this machine's clock, or renew the proxy's certificate";
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `Get a certificate for ${host}, or use the name that this one is for; apps refuse it too`;
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return "Get a certificate from a CA, as Caddy does by itself; apps refuse this one too";
    case "EPROTO":
      return "Give the port that has TLS, or turn TLS on for this one in the proxy";
    default:
      return "Let the proxy send the whole chain; if the CA is your own, add it to this machine and to each app's device";
  }
}

/** Whether podkeep responds, but not with its API: by a redirect of the page, or because the path is unknown. */
const isPage = ({ status, headers }: Response) =>
  headers.get("location")?.startsWith("/sign-in?") || (status === 404 && headers.has("x-request-id"));

function describeStranger(address: string, response: Response): Finding {
  const to = response.headers.get("location");
  const path = new URL(address).pathname;
  if (path !== "/" && isPage(response)) {
    const other = `Set PODKEEP_PUBLIC_URL=${address}, or let the proxy strip ${path}`;
    const advice = to ? `Let the proxy strip ${path}` : other;
    return problem("public URL", `the proxy passes ${path} on to podkeep`, advice);
  }
  if (to) return problem("public URL", `${address} redirects to ${to}`, "Give apps the URL that it redirects to");
  const advice =
    response.status >= 500
      ? "The proxy doesn't reach podkeep: check the address that it forwards to"
      : "Configure the proxy to forward the whole path, /v1 included";
  return problem("public URL", `${address}/v1 responds ${response.status}, and not from podkeep`, advice);
}

async function checkLinks(address: string, token: string | null): Promise<Finding> {
  const about = "links";
  if (token === null) return warning(about, "not checked", "Give a token of that server with --token");
  const response = await ask(address, token);
  if (response.status === 401) {
    return warning(about, "that server does not accept this data's tokens", "Give a token of that server with --token");
  }
  const page = Page.safeParse(await response.json().catch(() => null));
  if (!page.success)
    return problem(about, `GET /v1/subscriptions responds ${response.status}`, "Read the server's log");
  if (page.data.previous.startsWith(`${address}/v1/`)) return ok(about, `start with ${address}`);
  const { origin } = new URL(page.data.previous);
  return problem(
    about,
    `start with ${origin}`,
    `Set PODKEEP_PUBLIC_URL=${address}, or add the proxy to PODKEEP_TRUSTED_PROXIES`,
  );
}
