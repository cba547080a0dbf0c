// The public URL: what a client finds there.
import { z } from "zod";
import { isLocal } from "../config/app-url.ts";
import { CLIENT, readClient } from "../domain/doctor-headers.ts";
import { codeOf, isTlsError, reasonOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";
import { ASKED, ask, challengeOf, get, isOurs } from "./request.ts";

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
    if (!isOurs(response)) return [...findings, await describeStranger(address, response)];
    findings.push(ok("public URL", `podkeep responds at ${address}/v1`));
    // A valid token, because the server counts wrong ones, and so does fail2ban.
    const asked = await ask(address, token ?? "podkeep_doctor");
    if (isThrottled(asked)) return [...findings, describeThrottle(address)];
    const authorization = checkAuthorization(asked);
    findings.push(authorization, await checkPaths(address));
    if (authorization.state === "ok") findings.push(...(await checkWithToken(address, token === null ? null : asked)));
  } catch (error) {
    findings.push(describeSilence(address, error));
  }
  return findings;
}

function checkAuthorization(asked: Response): Finding {
  // An invalid token gets another challenge than no token.
  const isReached = asked.status === 401 ? challengeOf(asked).includes("error=") : hasRequestId(asked);
  if (isReached) return ok("authorization", "the header reaches podkeep");
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
      return "Get a certificate from a CA: Caddy does this without further setup. Apps refuse this certificate too";
    case "EPROTO":
      return "Give the port that has TLS, or turn TLS on for this one in the proxy";
    default:
      return "Let the proxy send the whole chain; if the CA is your own, add it to this machine and to each app's device";
  }
}

/** What responds without a token, for each part of the server that a proxy may leave out. */
const PARTS = [
  { path: "/api/2/devices/doctor.json", part: "/api (gPodder apps)", isIts: isOurs },
  { path: "/index.php/apps/gpoddersync/subscriptions", part: "/index.php (Nextcloud apps)", isIts: isOurs },
  { path: "/sign-in", part: "/ (the web page)", isIts: async (response: Response) => isSignIn(await response.text()) },
];
/** Without a user it has no form. */
const isSignIn = (text: string) => text.includes("· podkeep</title>");

async function checkPaths(address: string): Promise<Finding> {
  const missing: string[] = [];
  for (const { path, part, isIts } of PARTS) if (!(await isIts(await get(address + path)))) missing.push(part);
  if (missing.length === 0) return ok("paths", "the proxy forwards what apps and the web page need");
  return problem(
    "paths",
    `podkeep does not respond at ${missing.join(", ")}`,
    "Configure the proxy to forward every path, not only /v1",
  );
}

/** Whether the server counts failed logins by the address of each client. An older server does not say. */
function checkClient(url: string, response: Response): Finding[] {
  const about = "client addresses";
  const client = readClient(response.headers.get(CLIENT));
  if (!client) return [];
  const { address, forwarded } = client;
  if (forwarded === "ignored") {
    const detail = `podkeep does not trust the proxy at ${address}: all clients share its address`;
    return [problem(about, detail, `Add ${address} to PODKEEP_TRUSTED_PROXIES`)];
  }
  // podkeep has no TLS, so a proxy sent this.
  if (forwarded === "missing" && url.startsWith("https:")) {
    const detail = `the proxy at ${address} does not say who its clients are: all share its address`;
    return [problem(about, detail, "Configure the proxy to send X-Forwarded-For")];
  }
  return [ok(about, `podkeep sees this machine as ${address}`)];
}

/** Whether podkeep responds, and no proxy does. */
const hasRequestId = ({ headers }: Response) => headers.has("x-request-id");
/** Whether podkeep responds, but not with its API, because the path is unknown. */
const isUnknownPath = (response: Response) => response.status === 404 && hasRequestId(response);
/** Whether podkeep has a page at this URL. */
const isPage = ({ headers }: Response) => headers.get("location")?.startsWith("/sign-in?") ?? false;

function describeRedirect(address: string, to: string): Finding {
  const base = to.endsWith(ASKED) ? to.slice(0, -ASKED.length) : null;
  const advice =
    base === null || base.includes("?")
      ? "Let the proxy pass requests on to podkeep, and ask for no sign-in itself"
      : "Give apps the URL that it redirects to";
  return problem("public URL", `${address} redirects to ${base ?? to}`, advice);
}

async function describeStranger(address: string, response: Response): Promise<Finding> {
  const to = response.headers.get("location");
  const path = new URL(address).pathname;
  if (path !== "/" && isUnknownPath(response)) {
    const other = `Set PODKEEP_PUBLIC_URL=${address}, or let the proxy strip ${path}`;
    const advice = isPage(await get(address)) ? `Let the proxy strip ${path}` : other;
    return problem("public URL", `the proxy passes ${path} on to podkeep`, advice);
  }
  if (to) return describeRedirect(address, URL.parse(to, address)?.href ?? to);
  if (response.status === 401 && response.headers.has("www-authenticate")) {
    const advice = "Turn that off in the proxy: an app sends one name and password, which are podkeep's";
    return problem("authorization", "the proxy asks for a password itself", advice);
  }
  const advice =
    response.status >= 500
      ? "The proxy doesn't reach podkeep: check the address that it forwards to"
      : "Configure the proxy to forward the whole path, /v1 included";
  return problem("public URL", `${address}/v1 responds ${response.status}, and not from podkeep`, advice);
}

/** @param response to a request with a token; null without */
async function checkWithToken(address: string, response: Response | null): Promise<Finding[]> {
  const about = "links";
  const advice = "Give a token of that server with --token";
  if (response === null) return [warning(about, "not checked", advice)];
  if (response.status === 401) return [warning(about, "that server does not accept this data's tokens", advice)];
  return [await checkLinks(address, response), ...checkClient(address, response)];
}

async function checkLinks(address: string, response: Response): Promise<Finding> {
  const about = "links";
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
